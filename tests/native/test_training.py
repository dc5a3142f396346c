"""A compiled unit with gradients is the unit of the layers in float64: output and every gradient."""

from dataclasses import replace

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from models.small import SMALL, perturb, shrink
from native.machine import INSTRUCTION_SETS, needs_native
from promises import relative_error
from somamba.models.so_mamba import unit
from somamba.models.so_mamba.config import Routes, SOMambaConfig
from somamba.models.so_mamba.unit import Unit
from somamba.models.so_mamba.variants import VARIANTS
from somamba.native import training

pytestmark = needs_native

ODD = replace(SMALL, channels=22, d_model=20, mixer=replace(SMALL.mixer, d_head=5, d_state=6, rank=3))
CONFIGS = {
    "paper": SOMambaConfig(),
    "paper, resident": replace(SOMambaConfig(), routes=Routes(residency="full")),
    "odd widths": ODD,
    "odd widths, resident": replace(ODD, routes=Routes(residency="full")),
    "paper, gates by token": replace(SOMambaConfig(), routes=Routes(residency="learned_token")),
    "odd widths, gates by token": replace(ODD, routes=Routes(residency="learned_token")),
    "residency alone": replace(SMALL, routes=Routes(access=False, outlet=False, residency="full")),
    "decay by softplus": replace(SMALL, mixer=replace(SMALL.mixer, decay="softplus")),
    "two groups of heads": replace(SMALL, mixer=replace(SMALL.mixer, groups=2)),
    "all of the state turns": replace(SMALL, mixer=replace(SMALL.mixer, rope_fraction=1.0)),
    "every second sample": replace(SMALL, router=replace(SMALL.router, compaction="stride")),
    "learned strengths": replace(SMALL, interface=replace(SMALL.interface, learned_strengths=True)),
}


def made(config, size, batch=2):
    torch.manual_seed(0)
    return perturb(Unit(config, "rows")), torch.randn(2, batch, *size, config.channels)


def differentiate(module, features, cotangent, call=None):
    """Output and all gradients by name."""
    module.zero_grad()
    features = features.clone().requires_grad_()
    out = (call or module)(features)
    out.backward(cotangent)
    gradients = {name: parameter.grad.clone() for name, parameter in module.named_parameters()}
    return {"out": out.detach(), "features": features.grad, **gradients}


def layers(module, features, cotangent):
    """The same in float64, which runs as layers."""
    right = differentiate(module.double(), features.double(), cotangent.double())
    module.float()
    return right


def agrees(module, tensors, limit=1e-4):
    ours, right = differentiate(module, *tensors), layers(module, *tensors)
    assert list(ours) == list(right)
    worst = {name: relative_error(ours[name], right[name]) for name in ours}
    assert max(worst.values()) < limit, worst
    assert relative_error(ours["out"], right["out"]) < 1e-5


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("size", [(3, 3), (7, 9)], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_all_variants_have_the_gradients_of_the_layers(name, size, count, threads):
    threads(count)
    agrees(*made(shrink(VARIANTS[name]), size))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("size", [(4, 3), (9, 40)], ids=str)
def test_all_sizes_have_the_gradients_of_the_layers(name, size):
    module, tensors = made(CONFIGS[name], size)
    assert module.compiled
    agrees(module, tensors)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_number_of_threads_does_not_matter(count, threads):
    threads(count)
    agrees(*made(SOMambaConfig(), (5, 11), batch=1))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("config", ["paper, resident", "odd widths"])
def test_every_instruction_set_has_the_gradients_of_the_layers(name, config, instruction_set):
    instruction_set(name)
    agrees(*made(CONFIGS[config], (6, 13)))


def test_rows_longer_than_what_a_worker_takes_at_a_time():
    agrees(*made(SMALL, (3, 203), batch=1))


def test_it_is_the_compiled_unit_that_runs(monkeypatch):
    module, (features, _) = made(SMALL, (5, 6))
    assert type(module(features).grad_fn).__name__ == "_UnitBackward"
    monkeypatch.setattr(unit, "can_stream", lambda *_: False)
    assert type(module(features).grad_fn).__name__ != "_UnitBackward"


def test_equal_steps_repeat_bit_by_bit(threads):
    threads(2)
    module, tensors = made(SMALL, (7, 9))
    first, second = differentiate(module, *tensors), differentiate(module, *tensors)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_interfaces_that_were_not_remembered_are_made_again(monkeypatch):
    module, tensors = made(SMALL, (7, 9))
    kept = differentiate(module, *tensors)
    monkeypatch.setattr(training, "REMEMBERED", 0)
    again = differentiate(module, *tensors)
    assert all(relative_error(again[name], kept[name]) < 1e-5 for name in kept)


def test_recomputed_units_have_the_same_gradients():
    module, tensors = made(SMALL, (7, 9))
    kept = differentiate(module, *tensors)
    again = differentiate(module, *tensors, call=lambda x: checkpoint(module, x, use_reentrant=False))
    assert all(torch.equal(kept[name], again[name]) for name in kept)


def test_gradients_that_are_not_contiguous_are_understood():
    module, (features, cotangent) = made(SMALL, (7, 9))
    turned = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (features, cotangent)]
    assert not turned[0].is_contiguous()
    right, ours = differentiate(module, features, cotangent), differentiate(module, *turned)
    assert all(torch.equal(right[name], ours[name]) for name in right)


def test_frozen_weights_get_no_gradient():
    module, (features, cotangent) = made(SMALL, (7, 9))
    module.block.mixer.requires_grad_(False)
    module(features).backward(cotangent)
    assert all(parameter.grad is None for parameter in module.block.mixer.parameters())
    assert all(parameter.grad is not None for parameter in module.router.parameters())


def test_weights_changed_between_the_passes_are_refused():
    module, (features, cotangent) = made(SMALL, (7, 9))
    out = module(features)
    with torch.no_grad():
        module.router.to_carrier.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward(cotangent)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_a_hook_on_a_layer_is_called_in_training(kind):
    module, (features, cotangent) = made(SMALL, (5, 6))
    seen = []
    layer = module.block.outlet.narrow
    register = layer.register_forward_hook if kind == "forward" else layer.register_full_backward_hook
    with register(lambda *_: seen.append(1)):
        module(features.requires_grad_()).backward(cotangent)
    assert seen == [1]
    assert type(module(features).grad_fn).__name__ == "_UnitBackward"


def test_under_autocast_gradients_want_the_layers():
    module, (features, _) = made(SMALL, (5, 6))
    with torch.autocast("cpu", torch.bfloat16):
        assert type(module(features).grad_fn).__name__ != "_UnitBackward"


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_does_not_become_a_number(value):
    module, (features, cotangent) = made(SMALL, (7, 9))
    features[0, 3, 4, 1] = value
    result = differentiate(module, features, cotangent)
    assert not result["out"][0, 3, 4].isfinite().any()
    assert not result["features"][0, 3, 4].isfinite().any()
