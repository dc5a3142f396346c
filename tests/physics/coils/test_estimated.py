"""Maps from whatever centre there is leave no part of an object black without a word."""

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, columns, picture
from somamba.errors import InputError
from somamba.physics.coils import estimated
from somamba.physics.coils.estimated import estimated_maps
from somamba.physics.coils.maps import explained_share
from somamba.physics.fourier import ifft2c

YX = (-2, -1)


@pytest.mark.parametrize("lines", [6, 8, 12])
def test_a_narrow_centre_of_a_real_head_leaves_no_part_of_it_black(lines, shared_data):
    kspace = np.fft.fftshift(np.load(shared_data / "raw_kspace" / "brain_13coil_flip4.npy"), axes=YX)
    acquired = np.arange(224) % 4 == 0
    acquired[112 - lines // 2 : 112 + lines // 2] = True
    measured = torch.from_numpy(np.where(acquired, kspace, 0) * np.float32(1e6))
    found = estimated_maps(measured)
    assert found.unseen < 0.05
    assert explained_share(measured, found.maps) > 0.95
    assert found.maps.ndim == 3


def test_the_energy_where_no_map_sees_anything_is_told(monkeypatch):
    kspace = torch.from_numpy(columns(coil_kspace(4, 48, 40), 4, 8))
    assert 0 <= estimated_maps(kspace).unseen < 0.05
    upper = (torch.arange(48) < 24)[:, None]
    whole = estimated._espirit
    monkeypatch.setattr(estimated, "_espirit", lambda *given, **how: torch.where(upper, whole(*given, **how), 0))
    assert 0.2 < estimated_maps(kspace).unseen < 0.8
    monkeypatch.setattr(estimated, "_espirit", lambda *given, **how: 0 * whole(*given, **how))
    assert estimated_maps(kspace).unseen == 0


@pytest.mark.parametrize("n_coils", [4, 12])
@pytest.mark.parametrize("lines", [8, 12, 24])
def test_a_slice_of_noise_is_not_refused(n_coils, lines, rng):
    """The outer slices of a volume often hold nothing else."""
    noise = torch.randn(n_coils, 64, 64, dtype=torch.complex64, generator=rng)
    kspace = columns(noise.numpy(), 4, lines)
    assert estimated_maps(torch.from_numpy(kspace)).unseen < 1


def test_estimated_maps_explain_the_coil_images():
    kspace = torch.from_numpy(coil_kspace(4, 48, 40))
    maps = estimated_maps(kspace).maps
    images = ifft2c(kspace)
    inside = (picture(48, 40) > 0) & (maps.abs().sum(dim=0) > 0)
    merged = (maps.conj() * images).sum(dim=0)
    assert float(inside.float().mean()) > 0.2
    torch.testing.assert_close((maps * merged)[:, inside], images[:, inside], atol=0.1, rtol=0.1)


def test_too_few_lines_are_refused():
    with pytest.raises(InputError, match=r"32 rows x 4 columns .* 6 of both are needed"):
        estimated_maps(torch.from_numpy(columns(coil_kspace(), 8, 4)))
