"""Weights of samples change nothing at their start; later the weighted problem is what is solved."""

import math
from dataclasses import replace

import pytest
import torch

from models.small import SMALL, gradients, measure, perturb
from native.machine import needs_native
from promises import complex_normal, relative_error
from somamba.models.layers.neutral import neutral_names
from somamba.models.layers.sample_weights import SampleWeights, sample_facts
from somamba.models.so_mamba.model import SOMamba
from somamba.physics.consistency import proximal
from somamba.physics.encoding import Weighting, coil_maps, encoding


def networks():
    """A network, and the same one that weighs samples, at its start."""
    config = replace(SMALL, consistency="proximal")
    torch.manual_seed(0)
    plain, weighing = perturb(SOMamba(config)), SOMamba(replace(config, weighted_samples=True))
    left = weighing.load_state_dict(plain.state_dict(), strict=False)
    assert set(left.missing_keys) == neutral_names(weighing) != set()
    assert not neutral_names(plain)
    return plain, weighing


@pytest.mark.parametrize("maps", [True, False])
@torch.no_grad()
def test_weights_change_nothing_at_their_start(maps):
    plain, weighing = networks()
    y, A = measure((14, 18), batch=2, coils=3 if maps else 1, maps=maps)
    torch.testing.assert_close(weighing(y, A), plain(y, A), rtol=1e-5, atol=1e-6)


def test_all_of_them_learn_and_change_the_image():
    plain, weighing = networks()
    perturb(weighing)
    y, A = measure((14, 18), batch=2, coils=3, maps=True)
    _, found = gradients(weighing, y, A)
    assert [name for name in neutral_names(weighing) if not found[name].any() or not found[name].isfinite().all()] == []
    weighing.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        assert relative_error(weighing(y, A), plain(y, A)) > 1e-4


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


def test_weighted_samples_are_those_of_the_weighted_problem(rng):
    """The minimum of |W^(1/2) (A x - y)|^2 + s |x - z|^2 has no gradient."""
    layer = perturb(SampleWeights()).double()
    maps = complex_normal((1, 3, 12, 16), rng)
    A = encoding(torch.rand(16, generator=rng) < 0.6, maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    z, y = complex_normal((1, 1, 12, 16), rng), A(complex_normal((1, 1, 12, 16), rng))
    with torch.no_grad():
        found = proximal(z, *layer(y, A), 0.2, tolerance=1e-12, iterations=500)
        mask = A.factors[0].mask
        weights = layer.function(sample_facts(mask).double())[..., 0].exp()
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
        weighted = torch.func.functional_call(layer, {"function.2.weight": output}, (y, A))
        return proximal(z, *weighted, 0.1, tolerance=1e-13, iterations=500)

    assert torch.autograd.gradcheck(solved, (layer.function[2].weight.detach().clone().requires_grad_(),))


@needs_native
def test_the_compiled_loop_weighs_columns_as_the_operator_does(rng):
    maps = complex_normal((2, 3, 20, 24), rng, torch.complex64)
    mask = torch.rand(2, 1, 1, 24, generator=rng) < 0.5
    A = encoding(mask, maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True))
    z, y = (complex_normal((2, n, 20, 24), rng, torch.complex64) for n in (1, 3))
    root = 0.5 + torch.rand(2, 1, 1, 24, generator=rng)
    compiled = proximal(z, root * y, Weighting(root) @ A, 0.3)
    exact = encoding(mask, coil_maps(A).to(torch.complex128))  # which the compiled loop does not take
    plain = proximal(z.to(torch.complex128), root * y.to(torch.complex128), Weighting(root.double()) @ exact, 0.3)
    assert relative_error(compiled, plain) < 1e-5
    assert relative_error(compiled, proximal(z, y, A, 0.3)) > 1e-2


@needs_native
def test_weights_learn_through_the_compiled_loop_as_through_the_operator(rng):
    maps = complex_normal((2, 3, 20, 24), rng, torch.complex64)
    mask = torch.rand(2, 1, 1, 24, generator=rng) < 0.5
    maps = maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True)
    z, y, wanted = (complex_normal((2, n, 20, 24), rng, torch.complex64) for n in (1, 3, 1))
    root = 0.5 + torch.rand(2, 1, 1, 24, generator=rng)

    def learned(kind):
        image, weights = z.to(kind).requires_grad_(), root.to(kind.to_real()).requires_grad_()
        A = Weighting(weights) @ encoding(mask, maps.to(kind))
        solved = proximal(image, weights * y.to(kind), A, 0.3, tolerance=1e-7, iterations=500)
        return torch.autograd.grad((solved * wanted.to(kind).conj()).real.sum(), (image, weights))

    for compiled, exact in zip(learned(torch.complex64), learned(torch.complex128), strict=True):
        assert relative_error(compiled, exact) < 1e-4
