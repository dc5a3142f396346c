"""The definition of the selective recurrence is the equation written out."""

import math

import pytest
import torch

from scan.selective.made import random_arguments
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.reference import selective_reference


def test_two_tokens_by_hand():
    def tensor(values, *shape):
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    inputs = SelectiveInputs(
        u=tensor([2.0, 3.0], 1, 2, 1), dt=tensor([0.5, 0.25], 1, 2, 1), A=tensor([-1.0, -4.0], 1, 2),
        B=tensor([0.1, 0.2, 0.3, 0.4], 1, 2, 1, 2), C=tensor([5.0, 6.0, 7.0, 8.0], 1, 2, 1, 2), D=tensor([11.0], 1),
    )  # fmt: skip
    first = [0.5 * 0.1 * 2, 0.5 * 0.2 * 2]
    second = [
        math.exp(-0.25) * first[0] + 0.25 * 0.3 * 3,
        math.exp(-1.0) * first[1] + 0.25 * 0.4 * 3,
    ]
    result = selective_reference(inputs, keep_states=True)
    assert result.states.flatten().tolist() == pytest.approx([*first, *second], rel=1e-12)
    reads = [5 * first[0] + 6 * first[1] + 11 * 2, 7 * second[0] + 8 * second[1] + 11 * 3]
    assert result.readout.flatten().tolist() == pytest.approx(reads, rel=1e-12)


def test_a_group_is_a_scan_of_its_own_channels():
    arguments = random_arguments(channels=6, groups=3)
    whole = selective_reference(SelectiveInputs(**arguments), keep_states=True)
    for group in range(3):
        own = slice(2 * group, 2 * group + 2)
        piece = {name: arguments[name][..., own] for name in ("u", "dt", "D")} | {"A": arguments["A"][own]}
        piece |= {name: arguments[name][:, :, group : group + 1] for name in ("B", "C")}
        alone = selective_reference(SelectiveInputs(**piece), keep_states=True)
        torch.testing.assert_close(whole.readout[..., own], alone.readout)
        torch.testing.assert_close(whole.states[:, :, own], alone.states)


def test_later_tokens_change_nothing_before_them():
    arguments = random_arguments(tokens=12)
    cut = {name: tensor[:, :7] if tensor.ndim > 2 else tensor for name, tensor in arguments.items()}
    whole, part = (selective_reference(SelectiveInputs(**given)).readout for given in (arguments, cut))
    torch.testing.assert_close(whole[:, :7], part)


def test_strong_decay_forgets():
    arguments = random_arguments(tokens=10)
    arguments["dt"], arguments["A"] = torch.ones_like(arguments["dt"]), torch.full_like(arguments["A"], -50)
    before = selective_reference(SelectiveInputs(**arguments)).readout
    arguments["u"][:, 0] += 100
    after = selective_reference(SelectiveInputs(**arguments)).readout
    assert not torch.allclose(before[:, 0], after[:, 0])
    torch.testing.assert_close(before[:, 1:], after[:, 1:])


def test_states_are_handed_out_only_on_request():
    inputs = SelectiveInputs(**random_arguments(batch=2, tokens=5))
    assert selective_reference(inputs).states is None
    assert selective_reference(inputs, keep_states=True).states.shape == (2, 5, 6, 4)
