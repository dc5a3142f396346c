"""Layers that know the sampling: at their start they change nothing, and later what they say they change."""

import math
from dataclasses import replace

import pytest
import torch

from models.small import SMALL, gradients, measure, perturb
from native.machine import needs_native
from promises import complex_normal, relative_error
from somamba.models.layers.sampling import (
    AccelerationModulation,
    MapRefinement,
    SampleWeights,
    neutral_names,
    sample_facts,
)
from somamba.models.so_mamba.model import SOMamba
from somamba.physics.consistency import proximal
from somamba.physics.encoding import Weighting, coil_maps, encoding

SWITCHES = ("acceleration_aware", "weighted_samples", "refined_maps")


def networks(switch):
    """A network, and the same one with a switch on, at its start."""
    config = replace(SMALL, consistency="proximal")
    torch.manual_seed(0)
    plain, switched = perturb(SOMamba(config)), SOMamba(replace(config, **{switch: True}))
    left = switched.load_state_dict(plain.state_dict(), strict=False)
    return plain, switched, left


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("maps", [True, False])
def test_a_switch_changes_nothing_at_its_start(switch, maps):
    plain, switched, left = networks(switch)
    assert set(left.missing_keys) == neutral_names(switched) != set()
    assert not neutral_names(plain)
    y, A = measure((14, 18), batch=2, coils=3 if maps else 1, maps=maps)
    with torch.no_grad():
        torch.testing.assert_close(switched(y, A), plain(y, A), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_weight_of_a_switch_learns_and_changes_the_image(switch):
    plain, switched, _ = networks(switch)
    perturb(switched)
    y, A = measure((14, 18), batch=2, coils=3, maps=True)
    image, found = gradients(switched, y, A)
    assert [name for name in neutral_names(switched) if not found[name].any() or not found[name].isfinite().all()] == []
    switched.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        assert relative_error(switched(y, A), plain(y, A)) > 1e-4
    assert image.isfinite().all()


def test_facts_of_samples_are_distance_density_and_doublings():
    mask = torch.zeros(1, 1, 1, 32, dtype=torch.bool)
    mask[..., ::4] = True
    distance, density, doublings = sample_facts(mask).unbind(dim=-1)
    assert distance.flatten()[[0, 8, 16, 24]].tolist() == [1.0, 0.5, 0.0, 0.5]
    assert density.flatten()[16].item() == pytest.approx(3 / 15)  # columns 9 to 23: 12, 16 and 20
    assert density.flatten()[0].item() == pytest.approx(2 / 8)  # columns 0 to 7
    assert doublings.flatten().tolist() == [2.0] * 32


def test_rows_count_in_masks_of_two_axes():
    mask = torch.ones(1, 1, 8, 4, dtype=torch.bool)
    distance, density, doublings = sample_facts(mask).unbind(dim=-1)
    assert distance[0, 0, 0, 2].item() == 1
    assert distance[0, 0, 0, 0].item() == pytest.approx(math.sqrt(2))
    assert distance[0, 0, 4, 2].item() == 0
    assert density.min() == density.max() == 1
    assert doublings.abs().max() == 0


@torch.no_grad()
def test_features_are_scaled_and_shifted_by_the_acceleration_of_their_own_slice(rng):
    layer = perturb(AccelerationModulation(5))
    mask = torch.zeros(2, 1, 1, 16, dtype=torch.bool)
    mask[0, ..., ::2], mask[1, ..., ::8] = True, True
    features = torch.randn(2, 3, 4, 5, generator=rng)
    found = layer(features, encoding(mask))
    for number, doublings in enumerate((1.0, 3.0)):
        scale, shift = layer.function(torch.tensor([doublings])).chunk(2)
        torch.testing.assert_close(found[number], features[number] * (1 + scale) + shift)
    assert relative_error(layer(features, encoding(mask[:1]))[1], found[1]) > 1e-4


def test_weighted_samples_are_those_of_the_weighted_problem(rng):
    """The minimum of |W^(1/2) (A x - y)|^2 + s |x - z|^2 has no gradient."""
    layer = perturb(SampleWeights()).double()
    maps = complex_normal((1, 3, 12, 16), rng)
    A = encoding(torch.rand(16, generator=rng) < 0.6, maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    z, y = complex_normal((1, 1, 12, 16), rng), A(complex_normal((1, 1, 12, 16), rng))
    with torch.no_grad():
        found = proximal(z, *layer(y, A), 0.2, tolerance=1e-12, iterations=500)
        mask = A.factors[0].mask
        weights = layer.function(sample_facts(mask))[..., 0].exp()
    assert weights.shape == mask.shape
    assert weights.max() / weights.min() > 1.01
    gradient = A.adjoint(weights * (A(found) - y)) + 0.2 * (found - z)
    assert gradient.abs().max() < 1e-9


def test_gradients_reach_the_weights_through_the_solution(rng):
    layer = perturb(SampleWeights()).double()
    maps = complex_normal((1, 2, 5, 6), rng)
    A = encoding(torch.tensor([1, 0, 1, 1, 0, 1]), maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    z, y = complex_normal((1, 1, 5, 6), rng), A(complex_normal((1, 1, 5, 6), rng))

    def solved(output):
        weighted = torch.func.functional_call(layer, {"function.output.weight": output}, (y, A))
        return proximal(z, *weighted, 0.1, tolerance=1e-13, iterations=500)

    assert torch.autograd.gradcheck(solved, (layer.function.output.weight.detach().clone().requires_grad_(),))


@needs_native
def test_the_compiled_loop_weighs_columns_as_the_operator_does(rng):
    maps = complex_normal((2, 3, 20, 24), rng, torch.complex64)
    mask = torch.rand(2, 1, 1, 24, generator=rng) < 0.5
    A = encoding(mask, maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    z, y = (complex_normal((2, n, 20, 24), rng, torch.complex64) for n in (1, 3))
    root = 0.5 + torch.rand(2, 1, 1, 24, generator=rng)
    compiled = proximal(z, root * y, Weighting(root) @ A, 0.3)
    plain = proximal(z, root * y, Weighting(root.expand(2, 1, 20, 24)) @ A, 0.3)  # no columns: not compiled
    assert relative_error(compiled, plain) < 1e-5
    assert relative_error(compiled, proximal(z, y, A, 0.3)) > 1e-2


def test_corrected_maps_keep_their_sum_of_squares_their_support_and_their_phase(rng):
    layer = perturb(MapRefinement())
    maps = complex_normal((2, 4, 24, 17), rng, torch.complex64)
    maps = maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True)
    maps[..., :3, :] = 0
    A = encoding(torch.rand(17, generator=rng) < 0.6, maps)
    x = complex_normal((2, 1, 24, 17), rng, torch.complex64)
    with torch.no_grad():
        found = coil_maps(layer(x, A(complex_normal((2, 1, 24, 17), rng, torch.complex64)), A))
    assert relative_error(found, maps) > 1e-3
    assert not found[..., :3, :].any()
    torch.testing.assert_close(found[..., 3:, :].abs().square().sum(dim=1), torch.ones(2, 21, 17))
    along = (maps.conj() * found).sum(dim=1)[..., 3:, :]
    assert along.imag.abs().max() < 1e-5
    assert along.real.min() > 0


def test_maps_that_explain_everything_are_seen_with_no_direction(rng):
    """The second half of what the convolutions see is zero then, whatever the image."""
    layer, seen = MapRefinement(), []
    layer.layers[0].register_forward_pre_hook(lambda _layer, inputs: seen.append(inputs[0]))
    maps = complex_normal((1, 3, 16, 16), rng, torch.complex64)
    A = encoding(torch.rand(16, generator=rng) < 0.6, maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    x = complex_normal((1, 1, 16, 16), rng, torch.complex64)
    layer(x, A(x), A)
    layer(x, A(x + 1), A)
    assert seen[0].shape == (3, 4, 2, 2)
    assert seen[0][:, 1::2].abs().max() < 1e-5
    assert seen[1][:, 1::2].abs().max() > 1e-3
