"""A selective scan refuses arguments that do not belong together, and says which one and why."""

import pytest
import torch

from scan.made import exchange
from scan.selective.made import random_arguments
from somamba.errors import InputError
from somamba.scan.selective.inputs import SelectiveInputs

NAMES = ("u", "dt", "A", "B", "C", "D")


def refusal(**changes):
    """The message for good arguments with these ones exchanged."""
    inputs = exchange(SelectiveInputs(**random_arguments()), **changes)
    with pytest.raises(InputError) as caught:
        inputs.check()
    return str(caught.value)


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
    message = refusal(**{name: longer})
    assert f"argument {name} must be {tuple(good.shape)} to go with u and B" in message
    assert str(tuple(longer.shape)) in message


def test_content_and_writes_of_different_lengths_are_refused():
    assert "argument B must be (1, 20, 1, 4)" in refusal(B=random_arguments(tokens=21)["B"])


@pytest.mark.parametrize("name", NAMES)
def test_one_argument_of_another_type_is_refused(name):
    message = refusal(**{name: random_arguments()[name].float()})
    assert "float32" in message
    assert "float64" in message


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.complex64])
def test_types_a_scan_cannot_run_in_are_refused(dtype):
    message = refusal(**{name: tensor.to(dtype) for name, tensor in random_arguments().items()})
    assert str(dtype) in message
    assert ".float()" in message


def test_an_argument_on_another_device_is_named():
    message = refusal(D=torch.empty(6, dtype=torch.float64, device="meta"))
    assert "D is on meta" in message
    assert "u on cpu" in message


def test_axes_that_are_missing_are_explained():
    assert "(batch, tokens, channels)" in refusal(u=random_arguments()["u"][0])
    assert "(batch, tokens, groups, n)" in refusal(B=random_arguments()["B"][:, :, 0])


@pytest.mark.parametrize(
    "sizes", [{"channels": 6, "groups": 4}, {"tokens": 0}, {"batch": 0}, {"channels": 0}, {"n": 0}, {"groups": 0}]
)
def test_sizes_that_make_no_scan_are_refused(sizes):
    with pytest.raises(InputError, match="channels divisible by groups and no empty axis"):
        SelectiveInputs(**random_arguments(**sizes)).check()
