"""The sparse image solves its problem; without sparsity it is the least-squares one."""

import torch

from promises import complex_normal
from somamba.physics.consistency import proximal
from somamba.physics.encoding import encoding
from somamba.physics.masks import equispaced
from somamba.physics.sparse import sparse_image

MAPS = complex_normal((2, 4, 32, 32), torch.Generator().manual_seed(1), torch.complex64)
MAPS = MAPS / torch.linalg.vector_norm(MAPS, dim=1, keepdim=True)
A = encoding(equispaced(32, 2).tensor(), MAPS)


def test_without_sparsity_it_is_the_proximal_image(rng):
    prior = complex_normal((2, 1, 32, 32), rng, torch.complex64)
    y = A(complex_normal((2, 1, 32, 32), rng, torch.complex64))
    sparse = sparse_image(y, A, 0.0, prior=prior, weight=0.3, iterations=200)
    torch.testing.assert_close(sparse, proximal(prior, y, A, 0.3), atol=1e-3, rtol=1e-3)


def test_a_blocky_image_is_found_again_from_half_of_its_samples():
    blocks = torch.zeros(2, 1, 32, 32, dtype=torch.complex64)
    blocks[..., 8:24, 8:20] = 1
    y = A(blocks)
    error = (sparse_image(y, A, 0.005, iterations=150) - blocks).norm() / blocks.norm()
    assert error < 0.5 * (A.adjoint(y) - blocks).norm() / blocks.norm()


def test_maps_of_any_norm_converge(rng):
    loud = encoding(equispaced(32, 2).tensor(), 5 * MAPS)
    y = loud(complex_normal((2, 1, 32, 32), rng, torch.complex64))
    image = sparse_image(y, loud, 0.0, iterations=300)
    assert (loud(image) - y).norm() < 0.05 * y.norm()


def test_an_image_repeats(rng):
    y = A(complex_normal((2, 1, 32, 32), rng, torch.complex64))
    assert torch.equal(sparse_image(y, A, 0.1, iterations=5), sparse_image(y, A, 0.1, iterations=5))


def test_slices_do_not_meet(rng):
    y = A(complex_normal((2, 1, 32, 32), rng, torch.complex64))
    both = sparse_image(y, A, torch.tensor([0.1, 0.0])[:, None, None, None], iterations=8)
    alone = sparse_image(y[:1], encoding(equispaced(32, 2).tensor(), MAPS[:1]), 0.1, iterations=8)
    torch.testing.assert_close(both[:1], alone)


def test_louder_maps_with_a_stronger_sparsity_are_the_same_problem(rng):
    # 1/2 |5 A x - 5 y|^2 + 25 lambda |W x| is 25 times the cost, with steps of a 25th of the length.
    y, start = A(complex_normal((2, 1, 32, 32), rng, torch.complex64)), torch.zeros(2, 1, 32, 32, dtype=torch.complex64)
    loud = encoding(equispaced(32, 2).tensor(), 5 * MAPS)
    stronger = sparse_image(5 * y, loud, 25 * 0.1, start=start, iterations=10)
    torch.testing.assert_close(stronger, sparse_image(y, A, 0.1, start=start, iterations=10), atol=1e-4, rtol=1e-3)
