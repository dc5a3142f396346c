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
    """The true magnitudes, by the private scale; the slope itself is 1 so that every viewer copes."""
    assert (float(file.RescaleSlope), float(file.RescaleIntercept)) == (1, 0)
    return file.pixel_array * file.private_block(0x0099, "somamba")[0x02].value


@pytest.mark.parametrize("scale", [1.0, 1e-7, 3e6])
def test_stored_values_times_the_private_scale_are_the_magnitudes(scale, tmp_path):
    write(made(scale=scale), tmp_path / "a", "dcm")
    truth = made(scale=scale).magnitudes
    files = series(tmp_path / "a")
    assert len(files) == 3
    for file, slice_ in zip(files, truth, strict=True):
        np.testing.assert_allclose(magnitudes(file), slice_, atol=0.51 * truth.max() / 32767)
        assert (file.Rows, file.Columns) == (6, 8)
    assert files[0].pixel_array[1, 4] == 32767


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


def test_a_file_says_what_it_is_and_is_not(tmp_path):
    write(made(name="Schädel\\1/^", affine=None), tmp_path / "a", "dcm")
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


def test_slices_whose_place_is_known_are_mr_images(tmp_path):
    """With the attributes that the standard requires of them, empty if they are unknown."""
    write(made(), tmp_path / "a", "dcm")
    file = series(tmp_path / "a")[0]
    assert file.SOPClassUID.name == "MR Image Storage"
    assert (file.ScanningSequence, file.SequenceVariant, file.ImageType[2]) == ("RM", "NONE", "OTHER")
    assert {"EchoTime", "RepetitionTime", "ScanOptions", "PatientPosition", "FrameOfReferenceUID"} <= set(file.dir())
    assert "ConversionType" not in file


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12, 0.0])
def test_viewers_open_it_with_a_window_over_the_stored_values(scale, tmp_path):
    write(made(scale=scale), tmp_path / "a", "dcm")
    file = series(tmp_path / "a")[0]
    stored = np.stack([one.pixel_array for one in series(tmp_path / "a")])
    assert float(file.WindowWidth) == pytest.approx(max(1, np.percentile(stored, 99.5)), rel=1e-3)
    assert float(file.WindowWidth) >= 1
    assert float(file.WindowCenter) == pytest.approx(float(file.WindowWidth) / 2)


def test_a_dynamic_scan_is_one_series(tmp_path):
    write(made(slices=6, volumes=2), tmp_path / "a", "dcm")
    files = series(tmp_path / "a")
    assert [int(file.InstanceNumber) for file in files] == [1, 2, 3, 4, 5, 6]
    assert [int(file.TemporalPositionIdentifier) for file in files] == [1, 1, 1, 2, 2, 2]
    assert {int(file.NumberOfTemporalPositions) for file in files} == {2}
    assert len({(file.StudyInstanceUID, file.SeriesInstanceUID, file.SeriesNumber) for file in files}) == 1
    assert len({file.SOPInstanceUID for file in files}) == 6
    assert files[0].ImagePositionPatient == files[3].ImagePositionPatient


def test_patient_and_study_come_from_the_template(tmp_path):
    study = {"PatientName": "Doe^Jane", "PatientID": "17", "StudyInstanceUID": "1.2.3", "FrameOfReferenceUID": "1.2.4"}
    write(replace(made(), study=study), tmp_path / "a", "dcm")
    files = series(tmp_path / "a")
    assert {(str(file.PatientName), file.PatientID, file.StudyInstanceUID) for file in files} == {
        ("Doe^Jane", "17", "1.2.3")
    }
    assert files[0].FrameOfReferenceUID == "1.2.4"
    assert files[0].SeriesInstanceUID != "1.2.3"


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
    np.testing.assert_allclose(magnitudes(pydicom.dcmread(tmp_path / "a.dcm")), made(slices=1).magnitudes[0], atol=2e-7)


def test_several_slices_are_not_one_file(tmp_path):
    with pytest.raises(InputError, match=r"3 slices are 3 DICOM files. Name a folder: .*a$"):
        write(made(), tmp_path / "a.dcm")


def test_an_empty_reconstruction_can_be_read(tmp_path):
    write(made(scale=0.0), tmp_path / "a", "dcm")
    assert not magnitudes(series(tmp_path / "a")[0]).any()
