"""A scan refuses arguments that do not belong together, and says which one and why."""

import pytest
import torch

from scan.made import random_arguments
from scan.promises import MAMBA3, REFUSALS, refusal
from somamba.errors import InputError
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference

NAMES = ("C", "B", "x", "z", "C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D", "angles", "dt", "adt", "trap")


def test_tensors_come_in_the_order_of_the_official_kernel():
    arguments = random_arguments()
    assert tuple(arguments) == NAMES
    for tensor, name in zip(ScanInputs(**arguments).tensors(), NAMES, strict=True):
        assert tensor is arguments[name]


@pytest.mark.parametrize("sizes", [{}, {"tokens": 1}, {"heads": 6, "groups": 3}, {"n": 7, "angles": 3}, {"angles": 0}])
def test_arguments_that_fit_are_accepted(sizes):
    ScanInputs(**random_arguments(**sizes)).check()


# x and B define the sizes, and the number of angles is free.
@pytest.mark.parametrize(
    ("name", "axis"),
    [(name, axis) for name in NAMES for axis in (0, -1) if name not in ("x", "B") and (name, axis) != ("angles", -1)],
)
def test_one_argument_of_another_size_is_named(name, axis):
    good = random_arguments()[name]
    longer = torch.cat([good, good], dim=axis)
    message = refusal(MAMBA3, **{name: longer})
    assert f"argument {name} must be" in message
    assert str(tuple(good.shape)) in message
    assert str(tuple(longer.shape)) in message


@pytest.mark.parametrize("promise", REFUSALS, ids=lambda promise: promise.__name__)
def test_types_and_devices_that_do_not_fit_are_refused(promise):
    promise(MAMBA3)


def test_axes_that_are_missing_are_explained():
    assert "(batch, tokens, heads, p)" in refusal(MAMBA3, x=random_arguments()["x"][0])
    assert "(batch, tokens, rank, groups, n)" in refusal(MAMBA3, B=random_arguments()["B"][:, :, :, 0])


@pytest.mark.parametrize(
    "sizes", [{"heads": 3, "groups": 2}, {"n": 8, "angles": 5}, {"tokens": 0}, {"batch": 0}, {"p": 0}]
)
def test_sizes_that_make_no_scan_are_refused(sizes):
    with pytest.raises(InputError, match="heads divisible by groups, 2 \\* angles <= n and no empty axis"):
        ScanInputs(**random_arguments(**sizes)).check()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_the_parts_of_a_scan_are_the_scan_in_parts(groups):
    inputs = ScanInputs(**random_arguments(batch=2, heads=4, p=5, groups=groups))
    whole = scan_reference(inputs, keep_states=True)
    for head in range(4):
        for lanes in (slice(0, 2), slice(2, 4), slice(4, 6)):
            part = inputs.part(head, lanes)
            part.check()
            result = scan_reference(part, keep_states=True)
            torch.testing.assert_close(result.states, whole.states[:, :, head : head + 1, lanes])
            torch.testing.assert_close(result.readout, whole.readout[:, :, head : head + 1, lanes])
