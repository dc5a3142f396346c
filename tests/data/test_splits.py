"""Splits are made by subject, repeat everywhere, and never let a test case be learnt."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from somamba.data.case import Entry
from somamba.data.readers import acdc
from somamba.data.splits import ACDC_VALIDATION, carve, divide
from somamba.errors import DataError


def entry(name: str, role: str = "train", subject: str | None = None) -> Entry:
    return Entry(id=name, subject=subject or name, role=role, files=(Path(f"{name}.h5"),), root=Path())


def test_validation_is_carved_from_training_and_nothing_is_lost():
    entries = [entry(f"t{i}") for i in range(20)] + [entry(f"e{i}", "test") for i in range(5)]
    parts = divide(entries, 0.2, "cc359")
    assert (len(parts["train"]), len(parts["val"]), len(parts["test"])) == (16, 4, 5)
    assert {e.role for e in parts["val"]} == {"train"}
    assert sorted(e.id for part in parts.values() for e in part) == sorted(e.id for e in entries)


def test_carving_does_not_depend_on_the_order_of_files():
    names = [f"file{i}" for i in range(30)]
    assert carve(names, 0.1, "fastmri") == carve(names[::-1], 0.1, "fastmri")
    assert carve(names, 0.1, "fastmri") != carve(names, 0.1, "cc359")


def test_one_missing_case_moves_at_most_one_other_into_validation():
    names = [f"file{i}" for i in range(40)]
    whole = carve(names, 0.25, "fastmri")
    for missing in names:
        assert len(whole - carve([name for name in names if name != missing], 0.25, "fastmri")) <= 1


def test_repetitions_of_one_subject_stay_together():
    entries = [entry(f"{study}_T10{i}", subject=study) for study in "abcde" for i in (1, 2, 3)]
    parts = divide(entries, 0.2, "m4raw")
    assert len({e.subject for e in parts["val"]}) == 1
    assert len(parts["val"]) == 3


def test_a_subject_in_two_splits_is_refused():
    with pytest.raises(DataError, match="'s1' is in 'train' and in 'test'"):
        divide([entry("a", subject="s1"), entry("b", "test", subject="s1")], None, "m4raw")


def test_a_single_case_is_trained_on():
    assert [e.id for e in divide([entry("a")], 0.5, "cc359")["train"]] == ["a"]


def test_acdc_validation_is_four_of_each_group_by_the_stated_rule(shared_data):
    groups: dict[str, list[str]] = {}
    for found in acdc.find(shared_data / "acdc").entries:
        groups.setdefault(acdc.read_info(found.files[0])["Group"], []).append(found.id)
    assert Counter({group: len(names) for group, names in groups.items()}) == dict.fromkeys(groups, 20)
    rule = {
        name
        for names in groups.values()
        for name in sorted(names, key=lambda name: hashlib.sha256(f"acdc/{name}".encode()).hexdigest())[:4]
    }
    assert rule == ACDC_VALIDATION
