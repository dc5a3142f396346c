"""Evidence changes how content is written and read: Eqs. 17-18."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from models.small import perturb
from somamba.models.so_mamba.config import InterfaceConfig
from somamba.models.so_mamba.interface import InterfaceModulation, LateLinear, Modulation

UNUSED = torch.zeros(0)  # hidden, weight and bias do not enter Eq. 18


def test_an_untrained_interface_modulates_nothing(rng):
    evidence = torch.randn(2, 3, 4, 8, generator=rng)
    modulation = InterfaceModulation(8, 5, InterfaceConfig())(evidence)
    values = modulation.values()
    assert [value.shape for value in values] == 4 * [(2, 3, 4, 5)]
    assert not any(value.any() for value in values)
    interface = torch.randn(2, 3, 4, 5, generator=rng)
    for mu, nu in (values[:2], values[2:]):
        assert torch.equal(modulation.apply(interface, mu, nu), interface)


def test_an_untrained_interface_can_learn(rng):
    modulate = InterfaceModulation(8, 5, InterfaceConfig())
    sum(value.sum() for value in modulate(torch.randn(2, 3, 4, 8, generator=rng)).values()).backward()
    assert modulate.project.weight.grad.any(dim=1).all()
    assert modulate.project.bias.grad.all()


def test_the_modulation_is_eq_18():
    modulation = Modulation(UNUSED, UNUSED, UNUSED, torch.tensor(0.1), torch.tensor(0.2))
    out = modulation.apply(torch.tensor(3.0), torch.tensor(0.5), torch.tensor(-2.0))
    assert out.item() == pytest.approx(3 * (1 + 0.1 * 0.46211716) - 0.2 * 0.96402758)


@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_the_modulation_is_bounded_by_its_strengths(value):
    modulation = Modulation(UNUSED, UNUSED, UNUSED, torch.tensor(0.1), torch.tensor(0.2))
    out = modulation.apply(torch.tensor(1.0), torch.tensor(value), torch.tensor(value))
    assert 1 - 0.3 - 1e-6 <= out.item() <= 1 + 0.3 + 1e-6


def test_every_token_speaks_for_itself(rng):
    modulate = perturb(InterfaceModulation(8, 5, InterfaceConfig()))
    evidence = torch.randn(1, 3, 4, 8, generator=rng, requires_grad=True)
    torch.cat(modulate(evidence).values(), dim=-1)[0, 1, 2].sum().backward()
    assert evidence.grad[0, 1, 2].any()
    assert evidence.grad.flatten(0, 2).any(dim=1).sum() == 1


def by_definition(modulate, evidence):
    """Norm, linear, SiLU, linear; or, with nothing hidden, norm and linear."""
    normed = F.layer_norm(evidence, evidence.shape[-1:], modulate.norm.weight, modulate.norm.bias)
    if isinstance(modulate.reduce, nn.Sequential):
        first = modulate.reduce[0]
        normed = F.silu(normed @ first.weight.mT + first.bias)
    return normed @ modulate.project.weight.mT + modulate.project.bias


@pytest.mark.parametrize("hidden", [0, 3])
def test_the_values_are_the_projection(hidden, rng):
    modulate = perturb(InterfaceModulation(8, 5, InterfaceConfig(hidden=hidden)))
    evidence = torch.randn(1, 3, 4, 8, generator=rng)
    modulation = modulate(evidence)
    assert modulation.bias.any()
    torch.testing.assert_close(torch.cat(modulation.values(), dim=-1), by_definition(modulate, evidence))


def test_a_late_linear_layer_hands_over_the_product_it_leaves_undone(rng):
    late = LateLinear(3, 7)
    usual = nn.Linear(3, 7)
    usual.load_state_dict(late.state_dict())
    x = torch.randn(2, 5, 3, generator=rng)
    handed, weight, bias = late(x)
    assert handed is x
    assert weight is late.weight
    assert bias is late.bias
    assert torch.equal(F.linear(handed, weight, bias), usual(x))


@pytest.mark.parametrize("hidden", [0, 3])
def test_the_modulation_stays_in_float32_under_autocast(hidden, rng):
    modulate = InterfaceModulation(8, 5, InterfaceConfig(hidden=hidden))
    with torch.autocast("cpu", torch.bfloat16):
        modulation = modulate(torch.randn(1, 3, 4, 8, generator=rng))
    assert {part.dtype for part in modulation} == {torch.float32}


def test_a_hidden_width_of_zero_is_a_single_linear_layer():
    def weights(hidden):
        return sum(p.numel() for p in InterfaceModulation(96, 64, InterfaceConfig(hidden=hidden)).parameters())

    norm = 2 * 96
    assert weights(0) == norm + 97 * 256
    assert weights(24) == norm + 97 * 24 + 25 * 256


def test_strengths_are_fixed_unless_asked_for():
    fixed = InterfaceModulation(8, 5, InterfaceConfig(scale=0.3, shift=0.4))
    learned = InterfaceModulation(8, 5, InterfaceConfig(scale=0.3, shift=0.4, learned_strengths=True))
    for modulate in (fixed, learned):
        assert modulate.scale.item() == pytest.approx(0.3)
        assert modulate.shift.item() == pytest.approx(0.4)
    assert not {"scale", "shift"} & set(dict(fixed.named_parameters()))
    assert not {"scale", "shift"} & set(fixed.state_dict())
    assert {"scale", "shift"} <= set(dict(learned.named_parameters()))
