"""The catalogue names every dataset's valid slices, masks and terms."""

import pytest

from somamba.data.catalog import DATASETS, Slices, split_entries
from somamba.data.phantom import write_phantom
from somamba.data.terms import TERMS
from somamba.errors import DataError
from somamba.physics.masks import MASKS


def test_the_lineage_keeps_the_20_central_slices_of_a_knee():
    assert DATASETS["fastmri"].slices.of(35) == range(7, 27)
    assert DATASETS["fastmri"].slices.of(36) == range(8, 28)
    assert DATASETS["fastmri"].slices.of(12) == range(12)


def test_the_lineage_keeps_slices_30_to_n_minus_31_of_a_brain():
    assert DATASETS["cc359"].slices.of(170) == range(30, 140)
    assert len(Slices(margin=30).of(50)) == 0


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_states_a_known_mask_and_its_terms(name):
    assert DATASETS[name].mask in MASKS
    assert all(TERMS[name])


def test_a_split_that_is_not_there_is_said_so(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 3})
    assert [entry.id for entry in split_entries("acdc", tmp_path, "val")] == ["patient001"]
    assert [entry.id for entry in split_entries("acdc", tmp_path, "train")] == ["patient002", "patient003"]
    with pytest.raises(DataError, match=r"no case of the 'test' split of acdc.*testing"):
        split_entries("acdc", tmp_path, "test")


def test_the_official_validation_part_of_m4raw_is_ours(tmp_path):
    write_phantom("m4raw", tmp_path, cases={"train": 2, "val": 1, "test": 1})
    counts = [len(split_entries("m4raw", tmp_path, split)) for split in ("train", "val", "test")]
    assert counts == [2, 1, 1]


def test_acdc_has_100_training_patients_and_1902_slices(shared_data):
    dataset = DATASETS["acdc"]
    entries = dataset.find(shared_data / "acdc").entries
    cases = [dataset.open_case(entry) for entry in entries]
    assert (len(cases), sum(map(len, cases))) == (100, 1902)
    assert len(split_entries("acdc", shared_data / "acdc", "val")) == 20
