"""Compressed coils keep the signal, the image and white noise."""

import pytest
import torch

from promises import complex_normal
from somamba.errors import InputError
from somamba.physics.coils.compression import compress, compression_matrix


def test_coils_that_are_mixes_of_three_are_compressed_to_three_without_loss(rng):
    mixes = complex_normal((8, 3), rng, torch.complex64)
    kspace = compress(mixes, complex_normal((3, 10, 12), rng, torch.complex64))
    matrix, kept = compression_matrix(kspace, 3)
    assert matrix.shape == (3, 8)
    assert float(kept) == pytest.approx(1, abs=1e-6)
    torch.testing.assert_close(compress(matrix.mH, compress(matrix, kspace)), kspace, rtol=1e-4, atol=1e-4)


def test_the_rows_are_orthonormal_and_ordered_by_energy(rng):
    kspace = complex_normal((6, 200), rng, torch.complex64) * torch.arange(1, 7)[:, None]
    matrix, kept = compression_matrix(kspace, 4)
    torch.testing.assert_close(matrix @ matrix.mH, torch.eye(4, dtype=matrix.dtype), rtol=1e-5, atol=1e-5)
    energies = compress(matrix, kspace).abs().square().sum(dim=1)
    assert (energies[:-1] >= energies[1:]).all()
    assert float(kept) == pytest.approx(float(energies.sum() / kspace.abs().square().sum()), rel=1e-5)


def test_tiny_samples_are_compressed_as_large_ones_are(rng):
    kspace = complex_normal((5, 50), rng, torch.complex64)
    (small, _), (large, _) = compression_matrix(kspace * 1e-25, 2), compression_matrix(kspace * 1e10, 2)
    torch.testing.assert_close(small.mH @ small, large.mH @ large, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_coils", [0, 6])
def test_a_number_of_coils_that_cannot_be_is_refused(n_coils, rng):
    with pytest.raises(InputError, match=f"5 coils can be compressed to 1 to 5, not to {n_coils}"):
        compression_matrix(complex_normal((5, 20), rng, torch.complex64), n_coils)


def test_zeros_are_refused():
    with pytest.raises(InputError, match="all zero"):
        compression_matrix(torch.zeros(4, 9, dtype=torch.complex64), 2)
