"""Learned residency starts as SO-Mamba, bit for bit, and leaves it by a gradient that is there from the first step."""

from dataclasses import replace

import pytest
import torch

from models.small import SMALL, gradients, measure, perturb
from somamba.models.so_mamba.config import Routes
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.residency import make_residency

LEARNED = ("learned_channel", "learned_token", "learned_unit")

learned = pytest.mark.parametrize("kind", LEARNED)


def network(kind):
    torch.manual_seed(0)
    return SOMamba(replace(SMALL, routes=Routes(residency=kind)))


def gates(model):
    return {name: parameter for name, parameter in model.named_parameters() if ".residency." in name}


def moved(kind):
    """Every weight but the gates away from where it starts: an untrained network changes nothing of its image."""
    model, plain = network(kind), perturb(network("none"))
    found = model.load_state_dict(plain.state_dict(), strict=False)
    assert set(found.missing_keys) == set(gates(model))
    return model, plain


@learned
def test_the_seed_gives_the_weights_of_so_mamba_and_gates_at_zero(kind):
    model, plain = network(kind).state_dict(), network("none").state_dict()
    assert all(torch.equal(model[name], value) for name, value in plain.items())
    added = [value for name, value in model.items() if name not in plain]
    assert added
    assert not any(value.any() for value in added)


def as_layers(model):
    """Let the units run layer by layer, as they do if somebody watches one of them."""
    for group in model.groups:
        for unit in group.units:
            unit.norm.register_forward_hook(lambda *_arguments: None)


# Compiled units and layers round differently, so each path is compared with itself.
@learned
@pytest.mark.parametrize("path", ["layers", "without kernels", "compiled"])
def test_with_closed_gates_the_image_and_all_gradients_are_those_of_so_mamba_bit_for_bit(kind, path, request):
    if path == "without kernels":
        request.getfixturevalue("without_native")
    model, plain = moved(kind)
    if path == "layers":
        as_layers(model)
        as_layers(plain)
    y, A = measure((13, 15), batch=2)
    (image, found), (right, wanted) = gradients(model, y, A), gradients(plain, y, A)
    assert torch.equal(image, right)
    assert all(torch.equal(found[name], gradient) for name, gradient in wanted.items())


@learned
def test_the_gradient_of_a_closed_gate_is_not_zero(kind):
    model, _ = moved(kind)
    _, found = gradients(model, *measure((13, 15)))
    assert gates(model)
    assert all(found[name].any() for name in gates(model))


@learned
def test_one_step_opens_the_gates(kind):
    model, _ = moved(kind)
    _, found = gradients(model, *measure((13, 15)))
    with torch.no_grad():
        for name, gate in gates(model).items():
            gate.sub_(found[name])
    y, A = measure((13, 15))
    with torch.no_grad():
        assert not torch.equal(model(y, A), moved(kind)[1](y, A))


def test_gates_are_what_their_names_say(rng):
    evidence = torch.randn(2, 3, 4, 6, generator=rng)
    channel, unit, token = (
        perturb(make_residency(kind, 6)) for kind in ("learned_channel", "learned_unit", LEARNED[1])
    )
    assert torch.equal(channel(evidence), evidence * channel.gate.view(1, 1, 1, 6))
    assert torch.equal(unit(evidence), evidence * unit.gate.item())
    normed = evidence - evidence.mean(dim=-1, keepdim=True)
    normed = normed / (normed.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    gate = (normed * token.project.weight[0]).sum(dim=-1, keepdim=True) + token.project.bias
    torch.testing.assert_close(token(evidence), evidence * gate)


@learned
def test_weight_decay_leaves_the_gates_alone(kind):
    assert all(parameter._no_weight_decay for parameter in gates(network(kind)).values())


def test_nothing_stands_between_carrier_and_content_without_residency():
    assert make_residency("none", 6) is None
