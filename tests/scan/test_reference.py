"""The definition of the recurrence: equal to the official PyTorch reference, and to the equations written out."""

import math

import pytest
import torch

from scan.made import GOLDEN, agrees, differentiate, golden_case, random_arguments
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_output_and_gradients(name):
    arguments, cotangent, expected = golden_case(name)
    agrees(differentiate(scan_reference, arguments, cotangent), expected, out=1e-9, gradient=1e-9)


def scalar_scan(**changes):
    """One head, width, state and rank, two tokens, nothing turned: every quantity is a plain number."""
    ones = {"C": (1, 2, 1, 1, 1), "B": (1, 2, 1, 1, 1), "x": (1, 2, 1, 1), "z": (1, 2, 1, 1)}
    ones |= dict.fromkeys(("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o"), (1, 1, 1)) | {"D": (1,)}
    ones |= dict.fromkeys(("dt", "adt", "trap"), (1, 2, 1))
    arguments = {name: torch.ones(shape, dtype=torch.float64) for name, shape in ones.items()}
    arguments["angles"] = torch.zeros(1, 2, 1, 0, dtype=torch.float64)
    given = {
        name: torch.as_tensor(v, dtype=torch.float64).reshape(arguments[name].shape) for name, v in changes.items()
    }
    result = scan_reference(ScanInputs(**(arguments | given)), keep_states=True)
    return result.readout.flatten().tolist(), result.states.flatten().tolist()


def test_two_tokens_by_hand():
    x, dt, adt, trap = (2.0, 3.0), (0.5, 0.25), (-1.0, -0.5), (0.0, 1.0)
    out, states = scalar_scan(
        x=x, dt=dt, adt=adt, trap=trap, B=(0.1, 0.2), C=(0.3, 0.4), B_bias=1, C_bias=2, D=7, mimo_x=5, mimo_z=0.5,
        mimo_o=11, z=(1.0, -1.0),
    )  # fmt: skip
    first, second = 1.1 * 5 * x[0], 1.2 * 5 * x[1]
    mixing = 1 / (1 + math.exp(-1))
    h0 = 0.5 * dt[0] * first
    h1 = math.exp(-0.5) * h0 + (1 - mixing) * dt[1] * math.exp(-0.5) * first + mixing * dt[1] * second
    assert states == pytest.approx([h0, h1], rel=1e-12)
    gates = [0.5 / (1 + math.exp(-0.5)), -0.5 / (1 + math.exp(0.5))]
    reads = [2.3 * h0 + 7 * 5 * x[0], 2.4 * h1 + 7 * 5 * x[1]]
    assert out == pytest.approx([11 * read * gate for read, gate in zip(reads, gates, strict=True)], rel=1e-12)


def test_a_closed_gate_lets_nothing_through():
    out, _ = scalar_scan(z=(0.0, 0.0))
    assert out == [0.0, 0.0]


def test_rank_is_summed_into_one_state():
    arguments = random_arguments(rank=3)
    result = scan_reference(ScanInputs(**arguments), keep_states=True)
    assert result.states.shape == (1, 20, 2, 8, 8)
    alone = []
    for rank in range(3):
        piece = {name: arguments[name][:, :, rank : rank + 1] for name in ("C", "B")}
        piece |= {
            name: arguments[name][:, rank : rank + 1] for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o")
        }
        alone.append(scan_reference(ScanInputs(**(arguments | piece)), keep_states=True).states)
    torch.testing.assert_close(result.states, sum(alone))


def test_later_tokens_change_nothing_before_them():
    arguments = random_arguments(tokens=12)
    cut = {
        name: t[:, :7] if name in ("C", "B", "x", "z", "angles", "dt", "adt", "trap") else t
        for name, t in arguments.items()
    }
    whole, part = (scan_reference(ScanInputs(**a)).readout for a in (arguments, cut))
    torch.testing.assert_close(whole[:, :7], part)


def test_strong_decay_forgets():
    arguments = random_arguments(tokens=10, decay="strong")
    arguments["adt"] = torch.full_like(arguments["adt"], -50)
    before = scan_reference(ScanInputs(**arguments)).readout
    arguments["x"][:, 0] += 100
    after = scan_reference(ScanInputs(**arguments)).readout
    assert not torch.allclose(before[:, 0], after[:, 0])
    torch.testing.assert_close(before[:, 1:], after[:, 1:])


def test_states_are_handed_out_only_on_request():
    inputs = ScanInputs(**random_arguments())
    assert scan_reference(inputs).states is None
    assert scan_reference(inputs, keep_states=True).states is not None
