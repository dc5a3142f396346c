"""A second set of maps is for an object that folds over, not for noise, in which all eigenvalues are high."""

import pytest
import torch

from promises import complex_normal
from somamba.physics.coils.compression import compress, compression_matrix
from somamba.physics.coils.eigenvectors import sums_of_eigenvalues
from somamba.physics.coils.maps import espirit_sets
from somamba.physics.masks import equispaced


def fewer(kspace, coils):
    """The head as seen by virtual coils."""
    return compress(compression_matrix(kspace, coils)[0], kspace)


@pytest.mark.parametrize("coils", [2, 3, 4, 8, 12, 16])
@pytest.mark.parametrize("acceleration", [1, 2])
def test_noise_has_one_set_of_maps(coils, acceleration, rng):
    noise = complex_normal((coils, 64, 64), rng, torch.complex64)
    if acceleration > 1:
        noise = torch.where(equispaced(64, 2, center_fraction=0.375).tensor()[0, 0], noise, 0)
    assert len(espirit_sets(noise)) == 1


@pytest.mark.parametrize("coils", [2, 3, 4, 8])
def test_a_fold_is_found_with_few_coils_too(coils, brain):
    kspace = fewer(brain[0], coils)
    assert len(espirit_sets(kspace)) == 1
    assert len(espirit_sets(kspace[:, :, ::2])) == 2


def test_a_fold_is_found_under_some_noise(brain, rng):
    kspace = brain[0][:, :, ::2]
    centre = kspace[:, 44:68, 16:40].abs().square().mean().sqrt()
    noisy = kspace + 0.1 * centre * complex_normal(tuple(kspace.shape), rng, torch.complex64)
    assert len(espirit_sets(noisy)) == 2


def test_the_sum_of_eigenvalues_is_that_of_the_matrix_at_each_pixel(rng):
    offsets = complex_normal((3, 3, 5, 5), rng)
    offsets = (offsets + offsets.flip(-2, -1).transpose(0, 1).conj()) / 2
    sums = sums_of_eigenvalues(offsets, (8, 12), apart=4)
    assert sums.shape == (2, 3)
    shifts, y, x = torch.arange(-2, 3, dtype=torch.float64), 4 - 8 // 2, 8 - 12 // 2
    waves = torch.exp(2j * torch.pi * (y * shifts[:, None] / 8 + x * shifts / 12))
    matrix = (offsets * waves).sum(dim=(-2, -1))
    torch.testing.assert_close(sums[1, 2], torch.linalg.eigvalsh(matrix).sum())
