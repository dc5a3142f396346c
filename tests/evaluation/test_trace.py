"""A trace shows the state and the read-out of every unit, a few channels at a time, and disturbs nothing."""

from dataclasses import replace

import pytest
import torch

from models.small import SMALL, measure, perturb, shrink
from scan.made import random_arguments, to
from somamba.errors import InputError
from somamba.evaluation.trace import ScanTrace, record_scans
from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.ownership import OwnershipBlock
from somamba.models.so_mamba.tokens import tokenize
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import build
from somamba.scan.backends import scan
from somamba.scan.inputs import ScanInputs

ORDERS = ("rows", "rows_reversed", "columns", "columns_reversed")


def made_trace(order="rows", size=(4, 5), **sizes):
    inputs = ScanInputs(**to(random_arguments(batch=2, tokens=size[0] * size[1], **sizes), torch.float32))
    return ScanTrace(0, size, order, inputs, scan(inputs).readout)


def traces_of(model, y, A):
    traces = []
    with torch.no_grad(), record_scans(model, traces.append):
        image = model(y, A)
    return traces, image


@pytest.mark.parametrize("order", ORDERS)
def test_a_token_of_the_grid_holds_its_state_and_its_readout(order):
    trace = made_trace(order, heads=3)
    states = scan(trace.inputs, keep_states=True).states
    grid = torch.cat(list(trace.state_grids(lanes=3)), dim=-1)
    torch.testing.assert_close(tokenize(grid, order), states.flatten(2))
    torch.testing.assert_close(tokenize(trace.readout_grid(), order), trace.readout.flatten(2))


@pytest.mark.parametrize(("lanes", "parts"), [(1, 16), (3, 6), (8, 2), (100, 2)])
def test_no_more_states_are_held_than_were_asked_for(lanes, parts):
    trace = made_trace(heads=2, p=8, n=4)
    channels = [grid.shape[-1] for grid in trace.state_grids(lanes=lanes)]
    assert max(channels) <= 4 * lanes
    assert (len(channels), sum(channels)) == (parts, 2 * 8 * 4)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_unit_of_every_variant_is_seen_once_and_in_order(name):
    model = perturb(SOMamba(shrink(VARIANTS[name], units=2))).eval()
    seen = []
    for module in model.modules():
        if isinstance(module, OwnershipBlock):
            module.mixer.register_forward_hook(lambda _module, _inputs, S: seen.append(S))
    y, A = measure((9, 12))
    traces, _ = traces_of(model, y, A)
    assert [trace.unit for trace in traces] == [0, 1, 2, 3]
    assert {trace.size for trace in traces} == {(5, 6)}
    for trace, S in zip(traces, seen, strict=True):
        assert torch.equal(trace.readout_grid().flatten(1, 2), S)


def test_each_unit_keeps_its_own_order():
    model = SOMamba(replace(SMALL, units=4, scan_orders=ORDERS)).eval()
    traces, _ = traces_of(model, *measure((9, 12)))
    assert [trace.order for trace in traces] == 2 * list(ORDERS)


def test_watching_changes_no_image_and_leaves_no_hook():
    model = perturb(SOMamba(SMALL)).eval()
    y, A = measure()
    with torch.no_grad():
        wanted = model(y, A)
    _, image = traces_of(model, y, A)
    torch.testing.assert_close(image, wanted)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_no_hook_is_left_after_an_error():
    model = SOMamba(SMALL).eval()

    def fail(_trace):
        raise ZeroDivisionError

    y, A = measure()
    with pytest.raises(ZeroDivisionError), record_scans(model, fail):
        model(y, A)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_the_papers_unit_has_3072_channels_of_state_and_192_of_readout():
    model = SOMamba(replace(SOMambaConfig(), groups=1, units=1)).eval()
    (trace,), _ = traces_of(model, *measure((6, 8)))
    assert sum(grid.shape[-1] for grid in trace.state_grids()) == 3072
    assert trace.readout_grid().shape == (1, 3, 4, 192)


def test_a_separate_output_projection_comes_after_what_is_recorded():
    model = SOMamba(replace(SMALL, output_projection="separate")).eval()
    traces, _ = traces_of(model, *measure())
    assert traces[0].readout_grid().shape[-1] == 2 * SMALL.d_model


def test_a_network_without_state_is_refused():
    with pytest.raises(InputError, match=r"ZeroFilled has no SO-Mamba unit"), record_scans(build("zero_filled"), print):
        pass
