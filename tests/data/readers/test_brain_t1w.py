"""Brains of ds002748: both layouts, parts by the number of the subject."""

import shutil

import pytest

from somamba.data.catalog import DATASETS, split_entries
from somamba.data.phantom import write_phantom
from somamba.data.readers.brain_t1w import role_of
from somamba.errors import DataError

READER = DATASETS["brain_t1w"]


def test_only_the_t1_volume_is_used(tmp_path):
    write_phantom("brain_t1w", tmp_path, cases={"train": 1})
    listing = READER.find(tmp_path)
    assert [path.name for path in listing.entries[0].files] == ["sub-01_T1w.nii.gz"]
    assert [item.name for item in listing.left_out] == ["sub-01_task-rest_bold.nii.gz"]


def test_volumes_may_lie_side_by_side(tmp_path):
    write_phantom("brain_t1w", tmp_path / "bids", cases={"train": 2})
    for path in (tmp_path / "bids").glob("*/anat/*"):
        shutil.copy(path, tmp_path)
    assert [entry.id for entry in READER.find(tmp_path).entries] == ["sub-01", "sub-02"]


def test_of_eight_subjects_one_validates_and_one_tests():
    assert [role_of(number) for number in (1, 6, 7, 8, 9, 15, 16)] == [
        *("train", "train", "val", "test"),
        *("train", "val", "test"),
    ]


def test_a_missing_folder_is_said_so(tmp_path):
    with pytest.raises(DataError, match="is not a folder"):
        READER.find(tmp_path / "nowhere")


def test_the_real_copy_has_six_brains_to_learn_from(shared_data):
    folder = shared_data / "brain_t1w"
    parts = [len(split_entries("brain_t1w", folder, split)) for split in ("train", "val", "test")]
    assert parts == [6, 1, 1]
    case = READER.open_case(split_entries("brain_t1w", folder, "val")[0])
    assert case.image.shape == (181, 288, 288)
