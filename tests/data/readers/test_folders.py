"""A folder that is not the dataset is refused with what was expected."""

import pytest

from somamba.data.readers.folders import official_folders
from somamba.errors import DataError

ROLES = {"training": "train", "testing": "test"}


def test_existing_official_folders_are_found_with_their_role(tmp_path):
    (tmp_path / "testing").mkdir()
    assert list(official_folders(tmp_path, ROLES, "ACDC")) == [(tmp_path / "testing", "test")]


def test_an_official_folder_may_be_given_itself(tmp_path):
    (tmp_path / "training").mkdir()
    assert list(official_folders(tmp_path / "training", ROLES, "ACDC")) == [(tmp_path / "training", "train")]


def test_a_folder_that_two_names_describe_is_found_once(tmp_path):
    folder = tmp_path / "archive" / "train"
    folder.mkdir(parents=True)
    assert list(official_folders(folder, {"archive/train": "train", "train": "train"}, "X")) == [(folder, "train")]


def test_other_folders_are_refused_with_what_is_inside(tmp_path):
    with pytest.raises(DataError, match="it is empty"):
        list(official_folders(tmp_path, ROLES, "ACDC"))
    (tmp_path / "holiday").mkdir()
    with pytest.raises(DataError, match=r"none of training/, testing/ is inside, but holiday"):
        list(official_folders(tmp_path, ROLES, "ACDC"))
    with pytest.raises(DataError, match="is not a folder"):
        list(official_folders(tmp_path / "nowhere", ROLES, "ACDC"))
