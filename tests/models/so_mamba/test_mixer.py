"""Mamba-3 around the scan: the sizes, initial values and formulas of the official module."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.small import perturb
from native.machine import needs_native
from somamba.models.so_mamba.config import MixerConfig
from somamba.models.so_mamba.interface import Modulation
from somamba.models.so_mamba.mixer import InputProjection, Mixer
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference

SMALL = MixerConfig(d_state=8, d_head=8, rank=2, groups=2)
D_MODEL = 8


def modulated(interface, modulation, which):
    values = modulation.hidden @ modulation.weight.mT + modulation.bias
    mu, nu = values.chunk(4, dim=-1)[2 * which : 2 * which + 2]
    return interface * (1 + modulation.scale * torch.tanh(mu)) + modulation.shift * torch.tanh(nu)


def by_definition(mixer, u, modulation=None, *, raw=False):
    """Section 2 of the official module, literally, with the flat interfaces modulated after (or before) their norm."""
    config, heads = mixer.config, mixer.heads
    width = config.rank * config.groups * config.d_state
    sizes = {"z": mixer.d_inner, "x": mixer.d_inner, "B": width, "C": width, "dt": heads, "A": heads, "trap": heads}
    sizes["angle"] = int(config.d_state * config.rope_fraction) // 2
    if config.tie_interfaces:
        del sizes["C"]
    if config.tie_decay:
        del sizes["A"]
    parts = dict(zip(sizes, (u @ mixer.in_proj.weight.mT).split(list(sizes.values()), dim=-1), strict=True))

    def interface(name, which):
        value, weight = parts.get(name, parts["B"]), getattr(mixer, f"{name}_norm")
        if raw and modulation:
            value = modulated(value, modulation, which)
        value = value.unflatten(-1, (-1, config.d_state))
        value = (weight * value / (value.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()).flatten(-2)
        if modulation and not raw:
            value = modulated(value, modulation, which)
        return value.unflatten(-1, (config.rank, config.groups, config.d_state))

    dt = F.softplus(parts["dt"] + mixer.dt_bias)
    v = parts.get("A", parts["dt"])
    speed = F.softplus(v) if config.decay == "softplus" else v.clamp(min=0) + 1 / (1 - v.clamp(max=0))
    inputs = ScanInputs(
        C=interface("C", 1),
        B=interface("B", 0),
        x=parts["x"].unflatten(-1, (heads, config.d_head)),
        z=parts["z"].unflatten(-1, (heads, config.d_head)),
        **{name: getattr(mixer, name) for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D")},
        angles=parts["angle"][:, :, None].expand(-1, -1, heads, -1),
        dt=dt,
        adt=-speed.clamp(min=1e-4) * dt,
        trap=parts["trap"],
    )
    return scan_reference(inputs).readout.flatten(-2)


def random_modulation(mixer, rng, dtype=torch.float64):
    hidden = torch.randn(2, 11, 5, dtype=dtype, generator=rng)
    weight = 5**-0.5 * torch.randn(4 * mixer.width, 5, dtype=dtype, generator=rng)
    bias = torch.randn(4 * mixer.width, dtype=dtype, generator=rng)
    return Modulation(hidden, weight, bias, torch.tensor(0.3, dtype=dtype), torch.tensor(0.6, dtype=dtype))


SWITCHES = [
    {},
    {"rope_fraction": 1.0},
    {"decay": "softplus"},
    {"tie_decay": True},
    {"tie_interfaces": True},
    {"tie_decay": True, "tie_interfaces": True},
    {"groups": 1, "rank": 3, "d_state": 7},
    {"expand": 3, "d_head": 4, "groups": 3},
]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("position", ["none", "after_norm", "before_norm"])
def test_it_is_the_official_module_with_modulated_interfaces(switches, position, rng):
    raw = position == "before_norm"
    mixer = perturb(Mixer(D_MODEL, replace(SMALL, **switches), modulate_raw=raw)).double()
    u = torch.randn(2, 11, D_MODEL, dtype=torch.float64, generator=rng)
    modulation = None if position == "none" else random_modulation(mixer, rng)
    out = mixer(u, modulation)
    assert out.shape == (2, 11, mixer.d_inner)
    torch.testing.assert_close(out, by_definition(mixer, u, modulation, raw=raw), rtol=1e-9, atol=1e-12)


@needs_native
@pytest.mark.parametrize("position", ["none", "after_norm", "before_norm"])
def test_the_compiled_path_agrees_in_value_and_gradient(position, rng):
    raw = position == "before_norm"
    torch.manual_seed(0)  # relative to a gradient that happens to cancel, any error is large: always the same network
    mixer = perturb(Mixer(D_MODEL, SMALL, modulate_raw=raw))
    u = torch.randn(2, 11, D_MODEL, generator=rng)
    modulation = None if position == "none" else random_modulation(mixer, rng, torch.float32)
    cotangent = torch.randn(2, 11, mixer.d_inner, generator=rng)

    def run(network, dtype):
        network.zero_grad()
        leaf = u.to(dtype, copy=True).requires_grad_()
        given = modulation and Modulation(*(part.to(dtype, copy=True).requires_grad_() for part in modulation))
        out = network(leaf, given)
        out.backward(cotangent.to(dtype))
        gradients = [leaf.grad, *(part.grad for part in given or ()), *(p.grad for p in network.parameters())]
        return [out.detach(), *(gradient.clone() for gradient in gradients)]

    single = run(mixer, torch.float32)
    for ours, right in zip(single, run(mixer.double(), torch.float64), strict=True):
        assert (ours - right).abs().max() <= 2e-5 * right.abs().max()


def test_sizes_and_initial_values_are_those_of_the_official_module():
    mixer = Mixer(96, MixerConfig())
    assert mixer.in_proj.weight.shape == (525, 96)
    assert mixer.in_proj.bias is None
    assert list(mixer.in_proj.widths.items()) == [
        ("z", 192), ("x", 192), ("B", 64), ("C", 64), ("dt", 3), ("A", 3), ("trap", 3), ("angle", 4)
    ]  # fmt: skip
    assert mixer.B_bias.shape == mixer.C_bias.shape == (3, 4, 16)
    for name, value in (("B_bias", 1), ("C_bias", 1), ("B_norm", 1), ("C_norm", 1), ("D", 1), ("mimo_z", 1)):
        assert (getattr(mixer, name) == value).all()
    assert (mixer.mimo_x == 0.25).all()
    assert (mixer.mimo_o == 0.25).all()


def test_initial_steps_are_drawn_log_uniformly():
    torch.manual_seed(0)
    steps = F.softplus(torch.cat([Mixer(96, MixerConfig()).dt_bias.detach() for _ in range(100)]).double())
    assert steps.min() >= 0.001 - 1e-6
    assert steps.max() <= 0.1 + 1e-6
    position = (steps.log() - math.log(0.001)) / math.log(100)
    assert position.mean().item() == pytest.approx(0.5, abs=0.06)
    assert position.std().item() == pytest.approx(1 / math.sqrt(12), abs=0.04)


@pytest.mark.parametrize("others", [16, 15, 1])
def test_the_cut_projection_is_one_linear_layer(others, rng):
    projection = InputProjection(5, {"z": 4, "x": 6, "B": others, "dt": 2})
    u = torch.randn(2, 7, 5, generator=rng)
    parts = projection(u)
    assert {name: part.shape[-1] for name, part in parts.items()} == {"z": 4, "x": 6, "B": others, "dt": 2}
    torch.testing.assert_close(torch.cat(list(parts.values()), dim=-1), F.linear(u, projection.weight))


def scanned(mixer, u, **autocast):
    """What goes into the scan."""
    seen = []
    handle = mixer.scan.register_forward_pre_hook(lambda _module, args: seen.append(args[0]))
    with torch.autocast("cpu", torch.bfloat16, **autocast):
        mixer(u)
    handle.remove()
    return seen[0]


def test_state_and_decays_stay_in_float32_under_autocast(rng):
    inputs = scanned(Mixer(D_MODEL, SMALL), torch.randn(2, 11, D_MODEL, generator=rng))
    assert {tensor.dtype for tensor in inputs.tensors()} == {torch.float32}


@pytest.mark.parametrize("decay", ["rational", "softplus"])
@pytest.mark.parametrize("drive", [-1e6, -30.0, 0.0, 30.0, 1e6])
def test_decay_and_step_are_bounded_whatever_drives_them(decay, drive):
    mixer = Mixer(D_MODEL, replace(SMALL, decay=decay))
    u = torch.full((1, 5, D_MODEL), drive)
    with torch.no_grad():
        mixer.in_proj.weight.fill_(1 / D_MODEL)
    inputs = scanned(mixer, u, enabled=False)
    assert (inputs.dt >= 0).all()
    assert (inputs.adt <= -1e-4 * inputs.dt).all()
    assert inputs.adt.isfinite().all()
    u.requires_grad_()
    (gradient,) = torch.autograd.grad(mixer(u).sum(), u)
    assert gradient.isfinite().all()


def test_tokens_do_not_see_later_ones(rng):
    mixer = perturb(Mixer(D_MODEL, SMALL))
    u = torch.randn(1, 40, D_MODEL, generator=rng, requires_grad=True)
    mixer(u)[0, 17].sum().backward()
    assert u.grad[0, :18].any(dim=1).all()
    # Not exactly zero: the kernel adds a token's share in its successor's step and takes it away again.
    assert u.grad[0, 18:].abs().max() < 1e-6 * u.grad.abs().max()
