"""The selective layer is Mamba's: its equations token by token, its start, and float32 wherever a state lives."""

import pytest
import torch
import torch.nn.functional as F

from models.small import perturb
from somamba.models.layers.selective import SelectiveLayer

CHANNELS, N, RANK = 6, 4, 3


def make_layer(directions=1):
    torch.manual_seed(0)
    return perturb(SelectiveLayer(CHANNELS, N, RANK, directions=directions))


def by_definition(layer, u, direction):
    """Mamba-1 on the content of one direction, one token after the other."""
    channels = slice(direction * CHANNELS, (direction + 1) * CHANNELS)
    A, D, bias = -layer.A_log[channels].exp(), layer.D[channels], layer.dt_bias[channels]
    readout, state = [], torch.zeros(len(u), CHANNELS, N, dtype=u.dtype)
    for token in u[..., channels].unbind(1):
        steps, B, C = (token @ layer.select_weight[direction].mT).split([RANK, N, N], dim=-1)
        dt = F.softplus(steps @ layer.dt_weight[direction].mT + bias)[..., None]
        state = torch.exp(dt * A) * state + dt * B[:, None] * token[..., None]
        readout.append((state * C[:, None]).sum(-1) + D * token)
    return torch.stack(readout, dim=1)


@pytest.mark.parametrize("directions", [1, 2, 4])
def test_each_direction_follows_the_equations_of_mamba(directions, rng):
    layer = make_layer(directions).double()
    u = torch.randn(2, 9, directions * CHANNELS, dtype=torch.float64, generator=rng)
    expected = torch.cat([by_definition(layer, u, direction) for direction in range(directions)], dim=-1)
    torch.testing.assert_close(layer(u), expected)


def test_a_selection_may_be_changed_before_it_is_used(rng):
    layer = make_layer()
    u = torch.randn(1, 9, CHANNELS, generator=rng)
    selection = layer.select(u)
    assert layer.read(u, selection).equal(layer(u))
    unread = layer.read(u, selection._replace(C=torch.zeros_like(selection.C)))
    torch.testing.assert_close(unread, layer.D * u)


def test_decays_start_at_the_whole_numbers_and_steps_between_a_thousandth_and_a_tenth():
    layer = SelectiveLayer(CHANNELS, N, RANK, directions=2)
    assert layer.A_log.exp().round(decimals=4).unique().tolist() == [1, 2, 3, 4]
    steps = F.softplus(layer.dt_bias)
    assert steps.min() > 0.999e-3
    assert steps.max() < 0.1001
    assert (layer.D == 1).all()


def test_weight_decay_leaves_decays_steps_and_skip_alone():
    marked = {
        name for name, parameter in make_layer().named_parameters() if getattr(parameter, "_no_weight_decay", False)
    }
    assert marked == {"A_log", "D", "dt_bias"}


def test_the_scan_stays_in_float32_under_autocast(rng):
    layer, seen = make_layer(), []
    layer.scan.register_forward_pre_hook(lambda _module, inputs: seen.extend(inputs[0].tensors()))
    with torch.autocast("cpu", torch.bfloat16):
        readout = layer(torch.randn(1, 9, CHANNELS, generator=rng).bfloat16())
    assert {tensor.dtype for tensor in [readout, *seen]} == {torch.float32}
