"""A selective scan refuses arguments that do not belong together, and says which one and why."""

import pytest
import torch

from scan.promises import REFUSALS, SELECTIVE, refusal
from scan.selective.made import random_arguments
from somamba.errors import InputError
from somamba.scan.selective.inputs import SelectiveInputs

NAMES = ("u", "dt", "A", "B", "C", "D")


def test_tensors_come_in_the_order_of_the_official_kernel():
    arguments = random_arguments()
    assert tuple(arguments) == NAMES
    for tensor, name in zip(SelectiveInputs(**arguments).tensors(), NAMES, strict=True):
        assert tensor is arguments[name]


@pytest.mark.parametrize("sizes", [{}, {"tokens": 1}, {"channels": 6, "groups": 3}, {"channels": 1, "n": 1}])
def test_arguments_that_fit_are_accepted(sizes):
    SelectiveInputs(**random_arguments(**sizes)).check()


# u and B define the sizes.
@pytest.mark.parametrize(("name", "axis"), [(name, axis) for name in ("dt", "A", "C", "D") for axis in (0, -1)])
def test_one_argument_of_another_size_is_named(name, axis):
    good = random_arguments()[name]
    longer = torch.cat([good, good], dim=axis)
    message = refusal(SELECTIVE, **{name: longer})
    assert f"argument {name} must be {tuple(good.shape)} to go with u and B" in message
    assert str(tuple(longer.shape)) in message


def test_content_and_writes_of_different_lengths_are_refused():
    assert "argument B must be (1, 20, 1, 4)" in refusal(SELECTIVE, B=random_arguments(tokens=21)["B"])


@pytest.mark.parametrize("promise", REFUSALS, ids=lambda promise: promise.__name__)
def test_types_and_devices_that_do_not_fit_are_refused(promise):
    promise(SELECTIVE)


def test_axes_that_are_missing_are_explained():
    assert "(batch, tokens, channels)" in refusal(SELECTIVE, u=random_arguments()["u"][0])
    assert "(batch, tokens, groups, n)" in refusal(SELECTIVE, B=random_arguments()["B"][:, :, 0])


@pytest.mark.parametrize(
    "sizes", [{"channels": 6, "groups": 4}, {"tokens": 0}, {"batch": 0}, {"channels": 0}, {"n": 0}, {"groups": 0}]
)
def test_sizes_that_make_no_scan_are_refused(sizes):
    with pytest.raises(InputError, match="channels divisible by groups and no empty axis"):
        SelectiveInputs(**random_arguments(**sizes)).check()
