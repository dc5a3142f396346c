"""The last step improves a network's image, is chosen without the truth, and leaves complete scans alone."""

import pytest
import torch

from somamba.data.simulation.scanner import varied_coils
from somamba.models.classical.cg_sense import CGSense
from somamba.models.refined import Refined, RefinementConfig, Strengths
from somamba.physics.encoding import coil_maps, encoding
from somamba.physics.held_out import sampled_mask
from somamba.physics.masks import equispaced


def scan(coils: int = 8, size: int = 64, noise: float = 0.02):
    """A head of layers and blocks, a third of its columns, and the image."""
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, size) for _ in range(2)), indexing="ij")
    radius = (y / 0.9).square().add((x / 0.75).square()).sqrt()
    image = 0.4 * (radius < 0.85) + 0.5 * ((radius > 0.9) & (radius < 1)) + 0.3 * ((y.abs() < 0.3) & (x.abs() < 0.2))
    maps = varied_coils(coils, (size, size), seed=1)[None]
    maps = maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True)
    A = encoding(equispaced(size, 3, center_fraction=0.18).tensor(), maps)
    truth = image.to(torch.complex64)[None, None]
    y = A(truth)
    return (
        y + noise * torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(0)) * (y != 0),
        A,
        truth,
    )


def error(image, truth):
    return float((image - truth).norm() / truth.norm())


def test_sparsity_improves_a_linear_image():
    y, A, truth = scan()
    network = CGSense()
    refined = Refined(network)
    assert error(refined(y, A), truth) < 0.8 * error(network(y, A), truth)
    assert refined.used is not None


def test_a_perfect_network_is_trusted_and_a_useless_one_is_not():
    y, A, truth = scan()

    class Constant(CGSense):
        def __init__(self, image):
            super().__init__()
            self.image = image

        def forward(self, _y, _A):
            return self.image

    whole = RefinementConfig(search_rows=64, sets=1)
    good, bad = (Refined(Constant(image), whole).strengths(y, A) for image in (truth, torch.zeros_like(truth)))
    assert float(good.weight) > float(bad.weight)
    assert float(bad.weight) <= 0.001


def test_the_usual_strengths_are_left_only_for_a_clear_gain():
    y, A, _ = scan()
    usual = (RefinementConfig.weight, RefinementConfig.sparsity)
    free, bound = (
        Refined(CGSense(), RefinementConfig(margin=margin, search_rows=64, sets=1)).strengths(y, A)
        for margin in (0.0, 0.9)
    )
    assert (float(free.weight), float(free.sparsity)) != pytest.approx(usual)
    assert (float(bound.weight), float(bound.sparsity)) == pytest.approx(usual)


def test_it_is_chosen_with_fewer_coils_almost_as_with_all():
    y, A, truth = scan(coils=10)
    few, all_of_them = (Refined(CGSense(), RefinementConfig(search_coils=n)) for n in (5, 10))
    assert error(few(y, A), truth) < 1.05 * error(all_of_them(y, A), truth)


def test_strengths_that_were_chosen_before_are_used():
    y, A, _ = scan()
    refined = Refined(CGSense())
    refined.fixed = refined.strengths(y, A)
    assert torch.equal(refined(y, A), Refined(CGSense())(y, A))


@pytest.mark.parametrize("columns", [slice(0, 64), slice(4, 60)], ids=["whole", "zero-padded"])
def test_a_scan_without_gaps_stays_as_the_network_has_it(columns):
    _, A, truth = scan()
    mask = torch.zeros(1, 1, 1, 64, dtype=torch.bool)
    mask[..., columns] = True
    full = encoding(mask, A.factors[-1].maps)
    refined = Refined(CGSense())
    assert torch.equal(refined(full(truth), full), CGSense()(full(truth), full))
    assert refined.used is None


def test_strengths_that_were_chosen_before_are_used_and_a_large_weight_keeps_the_networks_image():
    y, A, truth = scan()
    refined = Refined(CGSense())
    one = torch.ones(1, 1, 1, 1)
    refined.fixed = Strengths(1000 * one, 0 * one)
    assert error(refined(y, A), CGSense()(y, A)) < 0.01
    assert refined.used is refined.fixed
    # A small weight lets the measurements and the sparsity decide instead.
    refined.fixed = Strengths(0 * one, 0.02 * one)
    assert error(refined(y, A), CGSense()(y, A)) > 0.05
    assert error(refined(y, A), truth) < 1


def test_what_a_network_shows_where_no_coil_sees_anything_does_not_matter():
    y, A, truth = scan()
    maps = coil_maps(A).clone()
    maps[..., :8, :] = 0
    blind = encoding(sampled_mask(A), maps)
    y = blind(truth)

    class Loud(CGSense):
        def forward(self, y, A):
            image = super().forward(y, A)
            return torch.where((coil_maps(A) != 0).any(dim=1, keepdim=True), image, 100)

    one, other = Refined(CGSense()), Refined(Loud())
    other.fixed = one.fixed = one.strengths(y, blind)
    torch.testing.assert_close(other(y, blind), one(y, blind), atol=1e-3, rtol=1e-3)


def test_more_sets_of_lines_make_the_choice_and_each_looks_at_rows_of_its_own():
    y, A, _ = scan()
    seen = []

    class Watched(CGSense):
        def forward(self, y, A):
            seen.append((tuple(y.shape), sampled_mask(A)[:, 0, 0], coil_maps(A)[:, 0]))
            return super().forward(y, A)

    Refined(Watched(), RefinementConfig(sets=2, search_rows=16, search_coils=8)).strengths(y, A)
    ((shape, masks, maps),) = seen
    assert shape == (2, 8, 16, 64)  # the two sets of lines
    assert not torch.equal(masks[0], masks[1])
    assert not torch.equal(maps[0], maps[1])
