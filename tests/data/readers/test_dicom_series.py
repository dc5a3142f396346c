"""DICOM series in a folder: grouped by series, sorted by position, divided by patient, odd files left out."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from pydicom.data import get_testdata_file

from data.readers.made_dicom import VOLUME, write_image, write_series
from somamba.data.catalog import DATASETS
from somamba.data.readers.dicom_series import series_volume
from somamba.errors import DataError
from somamba.files.reading import inspect, read

READER = DATASETS["folder"]


def reasons(root):
    return {item.name: item.reason for item in READER.find(root).left_out}


def test_slices_are_sorted_by_position_whatever_their_names_and_numbers(tmp_path):
    write_series(tmp_path, names=["c", "a", "b"], numbers=[2, 3, 1])
    (entry,) = READER.find(tmp_path).entries
    case = READER.open_case(entry)
    assert case.image.shape == VOLUME.shape
    np.testing.assert_allclose(case.image.read(0, 3), 0.5 * VOLUME + 7)


def test_series_of_several_patients_are_told_apart_by_their_id(tmp_path):
    for patient in ("Anna", "Berta"):
        for series in ("t1", "t2"):
            write_series(tmp_path / "export", patient=patient, series=f"{patient}{series}", prefix=f"{patient}{series}")
    entries = READER.find(tmp_path).entries
    assert len(entries) == 4
    assert len({entry.subject for entry in entries}) == 2
    by_subject = {}
    for entry in entries:
        by_subject.setdefault(entry.subject, set()).add(entry.role)
    assert sorted(map(sorted, by_subject.values())) == [["train"], ["val"]]
    assert "Anna" not in str(entries) or all("Anna" not in f"{entry.id}{entry.subject}" for entry in entries)


def test_without_patient_ids_the_folder_is_the_subject_and_it_is_said(tmp_path):
    for folder in ("one", "two", "three"):
        write_series(tmp_path / folder, patient="ANONYMOUS", series=folder)
    found = READER.find(tmp_path)
    assert sorted(entry.subject for entry in found.entries) == ["one", "three", "two"]
    assert "first folder, because PatientIDs are missing or all the same" in found.notes[1]
    assert found.notes[0] == "understood: 3 x DICOM series of 9 files; 3 subjects"


def test_other_files_in_the_folder_of_a_patient_are_of_that_patient(tmp_path):
    for patient in ("Anna", "Berta"):
        write_series(tmp_path / patient, patient=patient, series=patient)
    np.save(tmp_path / "Anna" / "t2.npy", VOLUME)
    subjects = {entry.id: entry.subject for entry in READER.find(tmp_path).entries}
    (series,) = (subject for name, subject in subjects.items() if name.startswith("Anna/series"))
    assert subjects["Anna/t2"] == series
    assert len(set(subjects.values())) == 2


def test_odd_files_are_left_out_with_a_reason(tmp_path):
    write_series(tmp_path)
    shutil.copy(tmp_path / "im0", tmp_path / "copy")
    write_image(tmp_path / "localiser", VOLUME[0, :10], number=9)
    write_image(tmp_path / "sagittal", VOLUME[0], number=10, orientation=[0, 1, 0, 0, 0, -1])
    write_image(tmp_path / "colour", VOLUME[0], number=11, PhotometricInterpretation="RGB", SamplesPerPixel=3)
    write_image(tmp_path / "report", None, number=12)
    (tmp_path / "cut").write_bytes((tmp_path / "im1").read_bytes()[:200])
    found = READER.find(tmp_path)
    assert [len(entry.files) for entry in found.entries] == [3]
    told = reasons(tmp_path)
    assert sorted(told) == ["colour", "cut", "im0", "localiser", "report", "sagittal"]
    assert told["im0"] == "a copy of another DICOM image"
    assert "another size" in told["localiser"]
    assert "another direction" in told["sagittal"]
    assert "RGB" in told["colour"]
    assert "without an image" in told["report"]


def test_frames_of_one_file_are_slices(tmp_path):
    write_image(tmp_path / "frames.dcm", VOLUME, NumberOfFrames=3)
    (entry,) = READER.find(tmp_path).entries
    volume = series_volume(entry.files)
    assert volume.shape == VOLUME.shape
    np.testing.assert_allclose(volume.slice(2), 0.5 * VOLUME[2] + 7)


def test_compressed_pixels_are_refused_with_the_remedy(tmp_path):
    write_image(tmp_path / "a.dcm", VOLUME[0], syntax="1.2.840.10008.1.2.4.70")
    assert "gdcmconv" in reasons(tmp_path)["a.dcm"]


def test_no_name_of_a_patient_leaves_the_reading_process(tmp_path):
    write_image(tmp_path / "a.dcm", VOLUME[0], patient="Erika Mustermann", PatientName="Mustermann^Erika")
    assert "Mustermann" not in str(dict(inspect(tmp_path / "a.dcm").texts))


def test_an_image_at_no_place_is_left_out(tmp_path):
    write_series(tmp_path)
    with pytest.warns(UserWarning, match="nan"):
        write_image(tmp_path / "im1", VOLUME[1], number=2, ImagePositionPatient=["0", "0", "nan"])
    assert "ImagePositionPatient is not finite" in reasons(tmp_path)["im1"]
    assert [len(entry.files) for entry in READER.find(tmp_path).entries] == [2]


def test_an_image_that_changed_its_size_since_the_series_was_found_is_refused(tmp_path):
    write_series(tmp_path)
    (entry,) = READER.find(tmp_path).entries
    write_image(tmp_path / "im1", VOLUME[1, :10], number=2, height=-15.0)
    with pytest.raises(DataError, match="its size is another one than when the series was found"):
        READER.open_case(entry)


def shipped(name):
    """A file of a scanner that comes with pydicom."""
    return Path(get_testdata_file(name, download=False))


@pytest.mark.parametrize("kind", ["bigendian", "expb", "implicit", "RLE", "padded"])
def test_a_scanners_image_is_the_same_in_every_transfer_syntax(kind):
    plain = read(shipped("MR_small.dcm"), "image", 0, 1)
    assert plain.shape == (1, 64, 64)
    assert plain.max() > 1000
    np.testing.assert_array_equal(read(shipped(f"MR_small_{kind}.dcm"), "image", 0, 1), plain)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("MR_truncated.dcm", "damaged"),
        ("MR_small_jp2klossless.dcm", "gdcmconv"),
        ("rtdose.dcm", "a dose, not an image"),
        ("liver_1frame.dcm", "a segmentation, not an image"),
        ("test-SR.dcm", "without an image"),
    ],
)
def test_what_is_no_image_or_cannot_be_read_says_so(name, reason):
    with pytest.raises(DataError, match=reason):
        read(shipped(name), "image", 0, 1)
