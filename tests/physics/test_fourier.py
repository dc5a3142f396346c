"""The Fourier transform is centred, unitary and never less precise than complex64."""

import pytest
import torch

from promises import complex_normal
from somamba.errors import InputError
from somamba.physics.fourier import PIECE, fft2c, ifft2c, mask_filter, power_spectrum

SIZES = [(8, 8), (7, 9), (15, 18), (1, 5)]


def centred_dft(size):
    """The definition, as a matrix: positions and frequencies both count from ``size // 2``."""
    index = torch.arange(size, dtype=torch.float64) - size // 2
    return torch.exp(-2j * torch.pi * torch.outer(index, index) / size) / size**0.5


@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_centred_orthonormal_transform_also_at_odd_sizes(size, rng):
    image = complex_normal((2, 1, *size), rng)
    by_definition = centred_dft(size[0]) @ image @ centred_dft(size[1]).mT
    torch.testing.assert_close(fft2c(image), by_definition)


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back_is_the_identity(size, rng):
    image = complex_normal((1, 2, *size), rng)
    torch.testing.assert_close(ifft2c(fft2c(image)), image)
    torch.testing.assert_close(fft2c(ifft2c(image)), image)


@pytest.mark.parametrize("size", SIZES)
def test_a_flat_image_is_one_sample_at_the_centre_of_kspace(size):
    kspace = fft2c(torch.ones(size, dtype=torch.complex128))
    peak = (kspace.abs() > 1e-9).nonzero()
    assert peak.tolist() == [[size[0] // 2, size[1] // 2]]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_autocast_does_not_change_a_bit(dtype, rng):
    image = complex_normal((1, 1, 12, 10), rng, dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = ifft2c(fft2c(image))
    assert inside.dtype == dtype
    assert torch.equal(inside, ifft2c(fft2c(image)))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("transform", [fft2c, ifft2c])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex32, torch.int64])
def test_other_dtypes_are_refused_with_a_remedy(transform, dtype):
    with pytest.raises(InputError, match=r"complex64 or complex128, got torch\..*\.to\(torch\.complex64\)"):
        transform(torch.empty(4, 4, dtype=dtype))


@pytest.mark.parametrize("size", [(7, 9), (8, 6), (5, 8), (6, 7), (2, 2), (1, 1)], ids=str)
def test_the_power_spectrum_is_the_squared_transform_of_all_channels(size, rng):
    grid = torch.randn(2, *size, PIECE + 3, generator=rng)
    spectrum = fft2c(grid.permute(0, 3, 1, 2).to(torch.complex128))
    power = power_spectrum(grid)
    assert power.dtype == torch.float64
    torch.testing.assert_close(power, spectrum.abs().square().sum(dim=1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(power.sum(), grid.double().square().sum(), rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("rows", [1, 15])
def test_the_filter_of_a_mask_is_there_and_back_also_on_odd_grids(rows, rng):
    image = torch.randn(2, 3, 15, 18, dtype=torch.complex128, generator=rng)
    mask = torch.rand(2, 1, rows, 18, generator=rng) < 0.4
    torch.testing.assert_close(mask_filter(image, mask), ifft2c(torch.where(mask, fft2c(image), 0)))
