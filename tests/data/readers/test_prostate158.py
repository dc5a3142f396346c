"""Prostate158: the T2 volume of every patient."""

import pytest

from somamba.data.catalog import DATASETS
from somamba.data.phantom import write_phantom
from somamba.errors import DataError

READER = DATASETS["prostate158"]


def test_only_the_t2_volume_is_used(tmp_path):
    write_phantom("prostate158", tmp_path, cases={"train": 1})
    listing = READER.find(tmp_path)
    assert [path.name for path in listing.entries[0].files] == ["t2.nii.gz"]
    assert {item.name for item in listing.left_out} == {"001/adc.nii.gz", "001/t2_anatomy_reader1.nii.gz"}


def test_folders_may_be_unpacked_without_their_archives_name(tmp_path):
    write_phantom("prostate158", tmp_path, cases={"train": 1})
    roles = [entry.role for entry in READER.find(tmp_path / "prostate158_train").entries]
    assert roles == ["train"]


def test_an_unknown_validation_folder_is_refused(tmp_path):
    write_phantom("prostate158", tmp_path, cases={"train": 1})
    (tmp_path / "prostate158_train" / "valid").mkdir()
    with pytest.raises(DataError, match="all under train/"):
        READER.find(tmp_path)


def test_a_patient_without_t2_is_refused_when_opened(tmp_path):
    write_phantom("prostate158", tmp_path, cases={"train": 1})
    entry = READER.find(tmp_path).entries[0]
    entry.files[0].unlink()
    with pytest.raises(DataError, match=r"t2\.nii\.gz: there is no such file"):
        READER.open_case(entry)
