"""Maps of the coarse grid are those of the fine one."""

import pytest
import torch

from somamba.data.simulation.scanner import varied_coils
from somamba.physics.coils.coarse_maps import coarse_espirit
from somamba.physics.coils.maps import combine, espirit, root_sum_of_squares
from somamba.physics.fourier import fft2c


def head(size: tuple[int, int]) -> torch.Tensor:
    """A bright ring around a textured disc."""
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, n) for n in size), indexing="ij")
    radius = (y / 0.8).square().add((x / 0.7).square()).sqrt()
    return torch.where(radius < 0.8, 0.5 + 0.3 * torch.cos(9 * x) * torch.sin(7 * y), 0.0) + (
        (radius > 0.9) & (radius < 1)
    ).to(torch.float32)


@pytest.mark.parametrize("size", [(96, 120), (48, 80), (101, 77)])
def test_the_maps_agree_and_merge_the_same_image(size):
    images = (varied_coils(6, size, seed=1) * head(size))[None]
    noise = 0.002 * torch.randn(images.shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    kspace = fft2c(images + images.abs().max() * noise)
    fine, coarse = espirit(kspace), coarse_espirit(kspace)
    lit = root_sum_of_squares(images) > 0.2 * root_sum_of_squares(images).max()
    alike = (fine.conj() * coarse).sum(dim=1, keepdim=True).abs()[lit]
    assert alike.mean() > 0.998
    norm = root_sum_of_squares(coarse)
    torch.testing.assert_close(norm[norm > 0], torch.ones_like(norm[norm > 0]), rtol=1e-5, atol=1e-5)
    one, other = (combine(images, maps).abs()[lit] for maps in (fine, coarse))
    assert (one - other).norm() < 0.01 * one.norm()


def test_pixels_without_signal_have_no_maps():
    images = (varied_coils(5, (96, 96), seed=2) * head((96, 96)))[None]
    noise = 0.01 * torch.randn(images.shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    kspace = fft2c(images + images.abs().max() * noise)
    coarse, fine = (root_sum_of_squares(method(kspace))[0, 0] > 0 for method in (coarse_espirit, espirit))
    assert 0.1 < (~fine).float().mean() < 0.9
    assert (coarse == fine).float().mean() > 0.97
