"""Coil maps are estimated from the centre of k-space, or the refusal says what to do instead."""

import pytest
import torch

from raw.made import coil_kspace, columns, picture
from somamba.errors import InputError
from somamba.inference.coil_maps import estimated_maps, given_maps
from somamba.physics.fourier import ifft2c


def test_estimated_maps_explain_the_coil_images():
    kspace = torch.from_numpy(coil_kspace(4, 48, 40))
    maps = estimated_maps(kspace)
    images = ifft2c(kspace)
    inside = (picture(48, 40) > 0) & (maps.abs().sum(dim=0) > 0)
    merged = (maps.conj() * images).sum(dim=0)
    assert float(inside.float().mean()) > 0.2
    torch.testing.assert_close((maps * merged)[:, inside], images[:, inside], atol=0.1, rtol=0.1)


def test_too_few_lines_are_refused_with_advice():
    with pytest.raises(InputError, match=r"32 rows x 4 columns.*--maps FILE.*at least 6, better 24"):
        estimated_maps(torch.from_numpy(columns(coil_kspace(), 8, 4)))


def test_a_centre_that_was_not_acquired_is_refused_with_advice():
    kspace = torch.from_numpy(coil_kspace())
    kspace[..., 12] = 0
    with pytest.raises(InputError, match=r"was not acquired.*--maps FILE"):
        estimated_maps(kspace)


def test_given_maps_get_unit_norm_and_keep_their_zeros(rng):
    maps = 5 * torch.randn(3, 8, 6, dtype=torch.complex64, generator=rng)
    maps[:, 0] = 0
    norm = torch.linalg.vector_norm(given_maps(maps), dim=0)
    torch.testing.assert_close(norm[1:], torch.ones(7, 6))
    assert not norm[0].any()
