"""ACDC: the frames of Info.cfg, and nothing else."""

import nibabel
import numpy as np
import pytest

from somamba.data.phantom import write_phantom
from somamba.data.readers import acdc
from somamba.errors import DataError


@pytest.fixture
def patient(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 2})
    return tmp_path / "training" / "patient002"


def entry(patient):
    return next(found for found in acdc.find(patient.parents[1]).entries if found.id == patient.name)


def test_the_frames_are_those_of_the_info_file(patient):
    assert [path.name for path in acdc.chosen_frames(patient / "Info.cfg")] == [
        "patient002_frame04.nii.gz",
        "patient002_frame11.nii.gz",
    ]


def test_segmentations_and_the_cine_are_left_out(patient):
    left_out = {item.name for item in acdc.find(patient.parents[1]).left_out}
    assert {"patient002_frame04_gt.nii.gz", "patient002_4d.nii.gz"} <= left_out
    assert not any("_gt" in path.name or "_4d" in path.name for path in entry(patient).files)


def test_the_number_of_a_patient_decides_the_part_wherever_the_folder_lies(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 1, "test": 1})
    (tmp_path / "testing" / "patient101").rename(tmp_path / "training" / "patient101")
    for root in (tmp_path, tmp_path / "training"):
        roles = {found.id: found.role for found in acdc.find(root).entries}
        assert roles == {"patient001": "train", "patient101": "test"}


@pytest.mark.parametrize("text", ["ED: 4\n", "ED: four\nES: 11\n", ""])
def test_an_info_file_without_both_frames_is_refused(patient, text):
    (patient / "Info.cfg").write_text(text)
    with pytest.raises(DataError, match=r"Info\.cfg: it needs ED and ES"):
        acdc.open_case(entry(patient))


def test_a_missing_info_file_is_refused(patient):
    (patient / "Info.cfg").unlink()
    with pytest.raises(DataError, match="which frames are ED and ES"):
        acdc.open_case(entry(patient))


def test_a_missing_frame_is_refused(patient):
    (patient / "patient002_frame11.nii.gz").unlink()
    with pytest.raises(DataError, match=r"patient002_frame11\.nii\.gz: there is no such file"):
        acdc.open_case(entry(patient))


def test_frames_on_different_grids_are_refused(patient):
    nibabel.Nifti1Image(np.zeros((10, 12, 2), np.float32), np.eye(4)).to_filename(patient / "patient002_frame11.nii.gz")
    with pytest.raises(DataError, match=r"ED is \(32, 24\) but ES is \(12, 10\)"):
        acdc.open_case(entry(patient))


def test_scaled_integers_arrive_as_the_values_they_stand_for(patient):
    path = patient / "patient002_frame11.nii.gz"
    image = nibabel.Nifti1Image(np.full((24, 32, 2), 3, np.int16), np.eye(4))
    image.header.set_slope_inter(2.5, 1.0)
    image.to_filename(path)
    stored = nibabel.load(path).get_fdata()
    np.testing.assert_allclose(acdc.open_case(entry(patient)).image.read(2, 4), stored.T, rtol=1e-6)


def test_real_patients_read_as_nibabel_reads_them(shared_data):
    patient = shared_data / "acdc" / "training" / "patient090"
    case = acdc.open_case(entry(patient))
    names = ["patient090_frame04.nii.gz", "patient090_frame11.nii.gz"]
    expected = np.concatenate([np.asarray(nibabel.load(patient / name).dataobj).T for name in names])
    np.testing.assert_array_equal(case.image.read(0, len(case)), expected)
