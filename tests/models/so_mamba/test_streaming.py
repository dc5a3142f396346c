"""The compiled unit is the unit of the layers: the same numbers, and only where nobody would miss the layers."""

from dataclasses import replace

import pytest
import torch

from models.small import SMALL, perturb, shrink
from native.machine import INSTRUCTION_SETS, needs_native
from promises import relative_error
from somamba.models.so_mamba import streaming, unit
from somamba.models.so_mamba.config import Routes, SOMambaConfig
from somamba.models.so_mamba.streaming import COMPILED, can_stream, is_compiled, settings, stream
from somamba.models.so_mamba.unit import Unit
from somamba.models.so_mamba.variants import VARIANTS
from somamba.native.route import route
from somamba.native.stream import stream_block

CONFIGS = {
    "small": SMALL,
    "paper": SOMambaConfig(),
    "odd widths": replace(SMALL, channels=22, d_model=20, mixer=replace(SMALL.mixer, d_head=5, d_state=6, rank=3)),
    "decay by softplus": replace(SMALL, mixer=replace(SMALL.mixer, decay="softplus")),
    "two groups of heads": replace(SMALL, mixer=replace(SMALL.mixer, groups=2)),
    "all of the state turns": replace(SMALL, mixer=replace(SMALL.mixer, rope_fraction=1.0)),
    "every second sample": replace(SMALL, router=replace(SMALL.router, compaction="stride")),
    "learned strengths": replace(SMALL, interface=replace(SMALL.interface, learned_strengths=True)),
    "residency alone": replace(SMALL, routes=Routes(access=False, outlet=False, residency="full")),
    "residency and odd widths": replace(SMALL, d_model=20, channels=22, routes=Routes(residency="full")),
    "gates by token and odd widths": replace(SMALL, d_model=20, channels=22, routes=Routes(residency="learned_token")),
}
COMPILED_VARIANTS = [
    "so_mamba", "without_access", "without_outlet", "content_residency", "residency_channel", "residency_token",
    "residency_unit", "so_mamba_adaptive", "tied_decay", "tied_interfaces",
]  # fmt: skip
CONFIGS |= {name: shrink(VARIANTS[name]) for name in COMPILED_VARIANTS}


def made(config=SMALL, size=(7, 9), batch=1, seed=0):
    torch.manual_seed(seed)
    return perturb(Unit(config, "rows")).eval(), torch.randn(batch, *size, config.channels)


def parts(module):
    return module.norm, module.router, module.block


def layers(module, features):
    """What the layers make of it, in float64."""
    with torch.no_grad():
        carrier, evidence = module.double().router(module.norm(features.double()))
        out = module.block(features.double(), carrier, evidence)
    module.float()
    return carrier, evidence, out


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("size", [(3, 3), (7, 9), (16, 33)], ids=str)
def test_the_compiled_unit_is_the_unit_of_the_layers(name, size):
    module, features = made(CONFIGS[name], size, batch=2)
    assert module.compiled
    assert can_stream(*parts(module), features)
    assert relative_error(module(features), layers(module, features)[2]) < 1e-5


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("size", [(3, 4), (8, 8), (9, 40)], ids=str)
def test_the_compiled_router_gives_both_streams(size):
    module, features = made(CONFIGS["odd widths"], size, batch=2)
    streams = route(features, module.router.weights(module.norm))
    for ours, right in zip(streams, layers(module, features), strict=False):
        assert relative_error(ours, right) < 1e-5


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("piece", [1, 2, 3, 32, 33, 62, 63, 64, 1000])
def test_the_size_of_the_pieces_does_not_matter(piece):
    module, features = made(size=(7, 9))
    carrier, evidence, right = layers(module, features)
    weights = module.block.weights()
    ours = stream_block(features, carrier.float(), evidence.float(), weights, piece=piece)
    assert relative_error(ours, right) < 1e-5


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_number_of_threads_does_not_matter(count, threads):
    module, features = made(SOMambaConfig(), (5, 11))
    threads(count)
    assert relative_error(stream(*parts(module), features), layers(module, features)[2]) < 1e-5


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("config", ["paper", "odd widths", "gates by token and odd widths"])
def test_every_instruction_set_gives_the_same(name, config, instruction_set):
    module, features = made(CONFIGS[config], (6, 13))
    instruction_set(name)
    assert relative_error(stream(*parts(module), features), layers(module, features)[2]) < 1e-5


@needs_native
@torch.no_grad()
def test_long_sequences_keep_their_accuracy():
    module, features = made(SMALL, (64, 80))
    assert relative_error(stream(*parts(module), features), layers(module, features)[2]) < 2e-5


@needs_native
@torch.no_grad()
def test_a_second_call_starts_from_an_empty_state():
    module, features = made()
    assert stream(*parts(module), features).equal(stream(*parts(module), features))


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_does_not_become_a_number(value):
    module, features = made()
    features[0, 3, 4, 1] = value
    assert not stream(*parts(module), features)[0, 3, 4].isfinite().any()


def test_which_variants_are_compiled():
    assert [name for name, config in VARIANTS.items() if is_compiled(config, "rows")] == COMPILED_VARIANTS


@pytest.mark.parametrize(
    "change",
    [
        {"output_projection": "separate"},
        {"outlet_ratio": 2},
        {"interface": replace(SMALL.interface, hidden=0)},
        {"interface": replace(SMALL.interface, position="before_norm")},
        {"router": replace(SMALL.router, projection="pointwise")},
        {"mixer": replace(SMALL.mixer, backend="chunked")},
        {"routes": Routes(residency="full"), "residency_mix": "concat"},
    ],
    ids=str,
)
def test_what_was_not_compiled_runs_as_layers(change):
    assert is_compiled(SMALL, "rows")
    assert not is_compiled(replace(SMALL, **change), "rows")


def test_other_orders_than_rows_run_as_layers():
    assert not is_compiled(SMALL, "columns")
    assert not Unit(SMALL, "columns").compiled


def test_every_field_of_the_config_is_decided():
    """A new field is not compiled until somebody says for which of its values the compiled unit is right."""
    assert list(COMPILED) == [name for name, _ in settings(SOMambaConfig())]


@pytest.mark.parametrize("name", [name for name, _ in settings(SOMambaConfig())])
def test_a_field_or_value_that_is_not_named_runs_as_layers(name, monkeypatch):
    monkeypatch.delitem(COMPILED, name)
    assert not is_compiled(SMALL, "rows")
    monkeypatch.setitem(COMPILED, name, lambda _value: False)
    assert not is_compiled(SMALL, "rows")


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_streams_in_float32_where_halves_do_not_pay(dtype, monkeypatch):
    monkeypatch.setattr(streaming, "halves_pay", lambda: False)
    module, features = made()
    with torch.autocast("cpu", torch.bfloat16):
        assert can_stream(*parts(module), features.to(dtype))
        under = module(features.to(dtype))
    assert under.dtype == torch.float32
    assert torch.equal(under, module(features.to(dtype).float()))


@needs_native
@torch.no_grad()
def test_bfloat16_without_autocast_wants_the_layers():
    module, features = made()
    assert not can_stream(*parts(module), features.bfloat16())


@needs_native
@torch.no_grad()
def test_autocast_streams_in_bfloat16_where_halves_pay(monkeypatch):
    monkeypatch.setattr(streaming, "halves_pay", lambda: True)
    module, features = made(SOMambaConfig(), (9, 12))
    exact = module(features)
    with torch.autocast("cpu", torch.bfloat16):
        under = module(features)
    assert not torch.equal(under, exact)
    assert relative_error(under, exact) < 1e-2


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("set_", INSTRUCTION_SETS)
@pytest.mark.parametrize("name", CONFIGS)
def test_products_in_bfloat16_are_those_of_rounded_numbers(name, set_, instruction_set):
    """Both streams of the router, which come from one product each, against the layers with rounded factors."""
    module, features = made(CONFIGS[name], (5, 7))
    weights = module.router.weights(module.norm)
    instruction_set(set_)
    pools = module.router.filter(module.norm(features)).bfloat16().double().chunk(2, dim=-1)
    candidates = [
        torch.nn.functional.linear(pool, weight.bfloat16().double(), bias.double())
        for pool, (weight, bias) in zip(pools, (weights.carrier, weights.evidence), strict=True)
    ]
    carrier, evidence = route(features, weights, half=True)
    # L + G is U_car + U_nr, whatever the router makes of them.
    assert relative_error(carrier.double() + evidence, sum(candidates)) < 3e-3
    exact = route(features, weights)
    assert 1e-5 < relative_error(carrier, exact[0]) < 1e-2
    out = stream_block(features, *exact, module.block.weights(), half=True)
    assert 1e-6 < relative_error(out, layers(module, features)[2]) < 1e-2


@needs_native
@torch.no_grad()
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_does_not_become_a_number_in_bfloat16(value):
    module, features = made()
    features[0, 3, 4, 1] = value
    streams = route(features, module.router.weights(module.norm), half=True)
    out = stream_block(features, *streams, module.block.weights(), half=True)
    assert not out[0, 3, 4].isfinite().any()


@needs_native
@torch.no_grad()
def test_double_precision_wants_the_layers():
    module, features = made()
    assert not can_stream(*parts(module.double()), features.double())


@needs_native
@torch.no_grad()
def test_a_hook_on_a_layer_is_called(monkeypatch):
    module, features = made()
    compiled, seen = module(features), []
    handle = module.block.mixer.scan.register_forward_hook(lambda *_: seen.append(1))
    watched = module(features)
    handle.remove()
    assert seen == [1]
    assert relative_error(compiled, watched) < 1e-5
    monkeypatch.setattr(unit, "stream", lambda *arguments: -arguments[-1])
    assert module(features).equal(-features)  # and without the hook the layers do not run


@torch.no_grad()
@pytest.mark.usefixtures("without_native")
def test_without_kernels_the_layers_run():
    module, features = made()
    assert not can_stream(*parts(module), features)
    assert module(features).shape == features.shape
