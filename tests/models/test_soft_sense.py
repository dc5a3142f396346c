"""Two sets of maps: the parts of an object that folds over are told apart, by every method."""

import torch

from promises import complex_normal, is_linear, keeps_the_adjoint_identity
from somamba.models.classical.cg_sense import CGSense
from somamba.models.classical.l1_wavelet import L1Wavelet, L1WaveletConfig
from somamba.models.refined import Refined
from somamba.models.soft_sense import SoftSense
from somamba.physics.encoding import CoilSets, encoding
from somamba.physics.masks import equispaced

SIZE = 48


def folded():
    """Two blocks that lie on one another, each seen by coils of its own, and every other column."""
    generator = torch.Generator().manual_seed(0)
    angles = torch.rand(2, 6, 1, 1, generator=generator) * 6.28
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, SIZE) for _ in range(2)), indexing="ij")
    maps = torch.polar(1 + 0.3 * torch.sin(angles + 2 * y), angles + x * torch.cos(angles))
    first = maps[0] / torch.linalg.vector_norm(maps[0], dim=0)
    second = maps[1] - first * (first.conj() * maps[1]).sum(dim=0)
    second = second / torch.linalg.vector_norm(second, dim=0)
    blocks = torch.zeros(1, 2, SIZE, SIZE, dtype=torch.complex64)
    blocks[0, 0, 8:40, 8:40], blocks[0, 1, 20:44, 16:44] = 1, 0.7
    A = encoding(equispaced(SIZE, 2, center_fraction=0.25).tensor(), torch.stack([first, second])[None])
    return A(blocks), A, blocks


class OneImage(CGSense):
    """Refuses two images, as networks do."""

    coils = 1


def error(image, truth):
    return float((image - truth).norm() / truth.norm())


def test_the_operator_of_two_sets_knows_its_adjoint(rng):
    maps = complex_normal((1, 2, 4, 12, 10), rng)
    keeps_the_adjoint_identity(CoilSets(maps), (1, 2, 12, 10), (1, 4, 12, 10), rng)
    is_linear(CoilSets(maps), (1, 2, 12, 10), rng)


def test_a_network_for_one_image_gets_the_part_that_it_knows():
    y, A, blocks = folded()
    image = SoftSense(OneImage())(y, A)
    assert image.shape == blocks.shape
    assert error(image, blocks) < 0.1
    # With the first set alone the other part stays in the image.
    alone = OneImage()(y, encoding(A.factors[0].mask, A.factors[-1].maps[:, 0]))
    assert error(image[:, :1], blocks[:, :1]) < 0.3 * error(alone, blocks[:, :1])


def test_with_one_set_it_is_the_network_as_it_is():
    y, A, _ = folded()
    one = encoding(A.factors[0].mask, A.factors[-1].maps[:, 0])
    assert torch.equal(SoftSense(OneImage())(y, one), OneImage()(y, one))


def test_sparsity_and_the_last_step_take_both_images():
    y, A, blocks = folded()
    assert error(L1Wavelet(L1WaveletConfig(strengths=(1e-3,), iterations=150))(y, A), blocks) < 0.1
    assert error(Refined(SoftSense(OneImage()))(y, A), blocks) < 0.1
