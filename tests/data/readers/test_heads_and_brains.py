"""Heads and brains side by side keep their own splits."""

import pytest

from somamba.data.catalog import DATASETS, split_entries
from somamba.data.phantom import write_phantom
from somamba.errors import DataError

READER = DATASETS["heads_and_brains"]


def test_both_parts_are_found_and_opened(tmp_path):
    write_phantom("heads_and_brains", tmp_path, cases={"train": 2})
    entries = READER.find(tmp_path).entries
    assert [entry.id for entry in entries] == ["t1_head1", "sub-02"]
    assert [READER.open_case(entry).image.shape for entry in entries] == [(4, 32, 24)] * 2


def test_only_brains_lack_a_head():
    assert READER.stripped("sub-02")
    assert not READER.stripped("t1_head1")
    assert DATASETS["brain_t1w"].stripped("sub-01")
    assert not DATASETS["heads"].stripped("t1_mprage_prisma3t")


def test_both_folders_must_be_there(tmp_path):
    write_phantom("heads", tmp_path / "heads", cases={"train": 1})
    with pytest.raises(DataError, match="brain_t1w is not a folder"):
        READER.find(tmp_path)


def test_the_real_copy_has_both(shared_data):
    parts = [len(split_entries("heads_and_brains", shared_data, split)) for split in ("train", "val", "test")]
    assert parts == [24, 3, 2]
