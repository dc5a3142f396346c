"""The one definition of what may be compared."""

import pytest

from results.made_rows import changed, rows
from somamba.errors import InputError
from somamba.results.comparable import check_comparable, comparable, conditions
from somamba.results.scores import by_evaluation

OURS = rows("so_mamba", "acdc", 4, psnr=(30, 31))


def other(**changes):
    return [changed(row, method="unet", **changes) for row in OURS]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": "cc359"}, "dataset"),
        ({"split": "val"}, "split"),
        ({"protocol": "raw"}, "protocol"),
        ({"mask": "random"}, "mask"),
        ({"acceleration": 8.0}, "acceleration"),
        ({"mask_digest": "other"}, "the mask of case0"),
        ({"case": "x", "cases": 1}, r"cases \(case0, case1, x in one of them only\)"),
    ],
)
def test_every_condition_counts_and_is_named(changes, words):
    found = other(**changes)[: changes.get("cases", 2)]
    with pytest.raises(InputError, match=f"^SO and U cannot be compared: they differ in {words}"):
        check_comparable([("SO", conditions(OURS)), ("U", conditions(found))])
    assert len(comparable(by_evaluation([*OURS, *found]))) == 2


def test_the_model_and_its_training_do_not_count():
    found = other(seed=3, epochs=9.0, weights="ff", parameters=1)
    check_comparable([("SO", conditions(OURS)), ("U", conditions(found[::-1]))])
    (group,) = comparable(by_evaluation([*OURS, *found]))
    assert [evaluation.subject.method for evaluation in group] == ["so_mamba", "unet"]


def test_a_condition_that_only_one_has_counts():
    with pytest.raises(InputError, match="differ in cutoffs"):
        check_comparable([("a", conditions(OURS, cutoffs=[1])), ("b", conditions(OURS, cutoffs=[2]))])
    with pytest.raises(InputError, match="differ in radius"):
        check_comparable([("a", conditions(OURS)), ("b", conditions(OURS, radius="side"))])
