"""DICOM outputs, read back by pydicom: values, sizes, positions and what a secondary capture has to say."""

from dataclasses import replace

import numpy as np
import pytest

from inference.writers.made import CORONAL, made, tilted_affine
from somamba.errors import InputError
from somamba.inference.writers.writing import write

pydicom = pytest.importorskip("pydicom")
LPS = np.diag([-1.0, -1.0, 1.0])


def series(folder):
    return [pydicom.dcmread(path) for path in sorted(folder.iterdir())]


def magnitudes(file):
    return file.pixel_array * float(file.RescaleSlope) + float(file.RescaleIntercept)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 3e6])
def test_stored_values_times_slope_are_the_magnitudes(scale, tmp_path):
    write(made(scale=scale), tmp_path / "a", "dcm")
    truth = made(scale=scale).magnitudes
    files = series(tmp_path / "a")
    assert len(files) == 3
    for file, slice_ in zip(files, truth, strict=True):
        np.testing.assert_allclose(magnitudes(file), slice_, atol=0.51 * truth.max() / 65535)
        assert (file.Rows, file.Columns) == (6, 8)
    assert files[0].pixel_array[1, 4] == 65535


@pytest.mark.parametrize("affine", [CORONAL, tilted_affine()])
def test_every_pixel_lies_where_the_affine_puts_it(affine, tmp_path):
    """By the equation of the standard (C.7.6.2.1.1), for three pixels of every slice."""
    write(made(affine=affine), tmp_path / "a", "dcm")
    for index, file in enumerate(series(tmp_path / "a")):
        along_row, along_column = np.reshape(np.array(file.ImageOrientationPatient, dtype=float), (2, 3))
        between_rows, between_columns = map(float, file.PixelSpacing)
        for row, column in [(0, 0), (1, 4), (5, 7)]:
            found = np.array(file.ImagePositionPatient, dtype=float)
            found = found + along_row * between_columns * column + along_column * between_rows * row
            np.testing.assert_allclose(LPS @ found, (affine @ [column, row, index, 1])[:3], atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm([along_row, along_column], axis=1), 1, atol=1e-9)


def test_sizes_tell_gaps_and_thickness_apart(tmp_path):
    write(made(), tmp_path / "a", "dcm")
    file = series(tmp_path / "a")[0]
    assert list(file.PixelSpacing) == [2.0, 1.5]
    assert (file.SpacingBetweenSlices, file.SliceThickness) == (6.0, 5.0)


def test_nothing_is_claimed_about_an_unknown_place(tmp_path):
    write(made(affine=None), tmp_path / "a", "dcm")
    write(made(affine=None, voxel=None), tmp_path / "b", "dcm")
    assert not {"ImagePositionPatient", "ImageOrientationPatient"} & set(series(tmp_path / "a")[0].dir())
    assert "PixelSpacing" not in series(tmp_path / "b")[0]


def test_a_secondary_capture_says_what_it_is_and_is_not(tmp_path):
    write(made(name="Schädel\\1/^"), tmp_path / "a", "dcm")
    file = series(tmp_path / "a")[0]
    assert file.SOPClassUID.name == "Secondary Capture Image Storage"
    assert file.file_meta.MediaStorageSOPInstanceUID == file.SOPInstanceUID
    assert file.ImageComments == "Research only, not for diagnosis."
    assert (file.BurnedInAnnotation, file.ConversionType, list(file.ImageType)) == (
        "NO",
        "WSD",
        ["DERIVED", "SECONDARY"],
    )
    assert (file.PatientID, str(file.PatientName), file.PatientBirthDate) == ("Schädel_1__", "", "")


def test_viewers_open_it_with_a_window_over_the_magnitudes(tmp_path):
    write(made(), tmp_path / "a", "dcm")
    file = series(tmp_path / "a")[0]
    assert float(file.WindowWidth) == pytest.approx(np.percentile(made().magnitudes, 99.5), rel=1e-5)
    assert float(file.WindowCenter) == pytest.approx(float(file.WindowWidth) / 2)


def test_volumes_are_series_of_one_study(tmp_path):
    write(made(slices=6, volumes=2), tmp_path / "a", "dcm")
    files = series(tmp_path / "a")
    assert [(int(file.SeriesNumber), int(file.InstanceNumber)) for file in files] == [
        *[(1, number) for number in (1, 2, 3)],
        *[(2, number) for number in (1, 2, 3)],
    ]
    assert len({file.StudyInstanceUID for file in files}) == 1
    assert len({file.SeriesInstanceUID for file in files}) == 2
    assert len({file.SOPInstanceUID for file in files}) == 6
    assert files[0].ImagePositionPatient == files[3].ImagePositionPatient


def identifiers(reconstruction, folder):
    write(reconstruction, folder, "dcm")
    file = series(folder)[0]
    return file.StudyInstanceUID, file.SeriesInstanceUID, file.SOPInstanceUID


def test_identifiers_are_valid_and_follow_the_content(tmp_path):
    first = identifiers(made(), tmp_path / "a")
    assert all(uid.is_valid and len(uid) <= 64 for uid in first)
    assert identifiers(made(), tmp_path / "b") == first
    for number, other in enumerate(
        (made(seed=1), made(name="y"), made(affine=None), replace(made(), provenance={"model": "other"}))
    ):
        assert not set(identifiers(other, tmp_path / str(number))) & set(first)


def test_one_slice_can_be_one_file(tmp_path):
    write(made(slices=1), tmp_path / "a.dcm")
    np.testing.assert_allclose(magnitudes(pydicom.dcmread(tmp_path / "a.dcm")), made(slices=1).magnitudes[0], atol=1e-8)


def test_several_slices_are_not_one_file(tmp_path):
    with pytest.raises(InputError, match=r"3 slices are 3 DICOM files. Name a folder: .*a$"):
        write(made(), tmp_path / "a.dcm")


def test_an_empty_reconstruction_can_be_read(tmp_path):
    write(made(scale=0.0), tmp_path / "a", "dcm")
    assert not magnitudes(series(tmp_path / "a")[0]).any()
