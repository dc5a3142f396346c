"""ISTA-Net+: its phases are the paper's equations, and the symmetry of its transforms is there for those who ask."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from models.small import gradients, measure, perturb, shrink
from promises import relative_error
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.ista_net import GradientStep, ISTANet, ISTANetConfig, Phase, Refined
from somamba.models.ista_net import shrink as soft_threshold
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import project, soften

SMALL = shrink(ISTANetConfig())


def network(**changes):
    torch.manual_seed(0)
    return perturb(ISTANet(replace(SMALL, **changes)))


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("phases", "features", "millions"), [(9, 32, 0.337), (8, 64, 1.189)])
def test_for_one_real_channel_it_has_the_published_parameters(phases, features, millions):
    published = nn.ModuleList(Phase(GradientStep(), channels=1, features=features) for _ in range(phases))
    assert count(published) == pytest.approx(millions * 1e6, rel=0.001)
    ours = ISTANet(ISTANetConfig(phases=phases, features=features))
    assert count(ours) == count(published) + phases * 2 * 9 * features  # the imaginary part, lifted and given back


class WithSymmetry(ISTANet):
    """The symmetry branch in every call, as the public code has it."""

    def forward(self, y, A):
        """Reconstruct, and throw the penalty away."""
        return self.symmetry(y, A).image


def test_it_costs_its_convolutions_and_the_symmetry_half_as_much_again():
    # At 320x320, 64 times as much: 35.0 G, and 34.5 G without the filters of the imaginary part; 51.5 G with symmetry.
    pixels, filters = 40 * 40, 9 * 32 * 32
    assert measure_cost(ISTANet(), (40, 40)).all == 9 * pixels * (4 * filters + 2 * 2 * 9 * 32)
    assert measure_cost(WithSymmetry(), (40, 40)).all == 9 * pixels * (6 * filters + 2 * 2 * 9 * 32)
    assert 64 * 9 * pixels * (4 * filters + 2 * 9 * 32) == pytest.approx(34.5e9, rel=0.01)


def test_the_threshold_is_soft_and_learns(rng):
    u = torch.randn(2, 3, 4, 5, generator=rng)
    theta = torch.tensor(0.3, requires_grad=True)
    shrunk = soft_threshold(u, theta)
    torch.testing.assert_close(shrunk, F.softshrink(u, 0.3))
    shrunk.abs().sum().backward()
    assert theta.grad == -(u.abs() > 0.3).sum()


@torch.no_grad()
def test_a_phase_is_the_equations_of_the_paper():
    phase = network().phases[0]
    y, A = measure((9, 11), seed=1)
    x = A.adjoint(measure((9, 11), seed=2)[0])
    r = to_channels(x - phase.step.rho * A.adjoint(A(x) - y))

    def filters(u, layer):
        return F.conv2d(u, layer.weight, padding=1)

    coefficients = filters(F.relu(filters(filters(r, phase.D), phase.H[0])), phase.H[2])
    shrunk = coefficients.sign() * (coefficients.abs() - phase.theta).clamp(min=0)
    back = filters(F.relu(filters(shrunk, phase.H_inverse[0])), phase.H_inverse[2])
    assert relative_error(phase(x, y, A).image, to_complex(r + filters(back, phase.G))) < 1e-6


def test_no_two_phases_share_a_weight():
    model = ISTANet(SMALL)
    assert count(model) == SMALL.phases * count(model.phases[0])


def test_step_and_threshold_start_as_published_and_do_not_decay():
    model = ISTANet()
    assert [phase.step.rho.item() for phase in model.phases] == [0.5] * 9
    assert [phase.theta.item() for phase in model.phases] == pytest.approx([0.01] * 9)
    undecayed = [name for name, parameter in model.named_parameters() if getattr(parameter, "_no_weight_decay", False)]
    assert undecayed == [f"phases.{i}.{name}" for i in range(9) for name in ("theta", "step.rho")]


@torch.no_grad()
def test_with_data_consistency_a_phase_starts_from_the_measured_samples():
    model = network(step="consistency")
    for phase in model.phases:
        nn.init.zeros_(phase.G.weight)
    y, A = measure()
    assert relative_error(A(model(y, A)), y) < 1e-5


def test_a_gradient_step_before_hard_consistency_would_change_nothing():
    # Why there is no rho besides it: the public code with both has a step length that learns nothing.
    y, A = measure(seed=1)
    x = A.adjoint(measure(seed=2)[0])
    assert relative_error(project(soften(x, y, A, 0.37), y, A), project(x, y, A)) < 1e-6
    assert not [name for name, _ in network(step="consistency").named_parameters() if "rho" in name]


@pytest.mark.parametrize("mode", [{}, {"coils": 3, "maps": True}])
def test_gradients_reach_every_parameter_with_data_consistency_too(mode):
    _, found = gradients(network(step="consistency"), *measure(**mode))
    assert all(gradient is not None and gradient.any() for gradient in found.values())


def test_symmetry_gives_the_image_of_forward_and_the_sum_over_the_phases():
    model = network()
    y, A = measure()
    image, penalty = model.symmetry(y, A)
    assert image.equal(model(y, A))
    x, wanted = A.adjoint(y), 0
    for phase in model.phases:
        refined = phase(x, y, A)
        wanted = wanted + (phase.H_inverse(phase.H(refined.lifted)) - refined.lifted).square().mean()
        x = refined.image
    torch.testing.assert_close(penalty, wanted)


def test_transforms_that_undo_each_other_are_symmetric(rng):
    phase = Phase(GradientStep(), channels=2, features=4)
    for filters in (phase.H[0], phase.H[2], phase.H_inverse[0], phase.H_inverse[2]):
        nn.init.dirac_(filters.weight)
    lifted = torch.rand(1, 4, 6, 7, generator=rng)  # not negative, or the ReLU inside H would cut it
    image = torch.zeros(1, 1, 6, 7, dtype=torch.complex64)
    assert phase.asymmetry(Refined(image, lifted, phase.H(lifted))) == 0
    nn.init.zeros_(phase.H_inverse[2].weight)
    assert phase.asymmetry(Refined(image, lifted, phase.H(lifted))) > 0.1


def test_the_penalty_teaches_both_transforms():
    model = network()
    model.symmetry(*measure()).penalty.backward()
    for phase in model.phases:
        assert all(
            layer.weight.grad.any() for layer in (phase.H[0], phase.H[2], phase.H_inverse[0], phase.H_inverse[2])
        )
