"""The centred, orthonormal 2-D Fourier transform, and crops by way of it. The only FFT in the package."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor
from torch.fft import fft2, fftn, fftshift, ifft2, ifftn, ifftshift, rfft2

from somamba.errors import InputError

YX = (-2, -1)
PRECISIONS = (torch.complex64, torch.complex128)
"""What is precise enough for physics; autocast never touches complex tensors, so this holds under it too."""
PIECE = 64
"""Channels of a grid transformed together: few, to stay in the caches. All at once took up to five times as long."""


def fft2c(image: Tensor) -> Tensor:
    """Image to k-space over the last two axes, zero frequency at ``(y // 2, x // 2)``; unitary."""
    check_precision(image, "an image")
    return fftshift(fft2(ifftshift(image, dim=YX), norm="ortho"), dim=YX)


def ifft2c(kspace: Tensor) -> Tensor:
    """k-space to image; the adjoint, and the inverse, of `fft2c`."""
    check_precision(kspace, "k-space")
    return fftshift(ifft2(ifftshift(kspace, dim=YX), norm="ortho"), dim=YX)


def mask_filter(image: Tensor, mask: Tensor) -> Tensor:
    """``ifft2c(where(mask, fft2c(image), 0))``, in short.

    The shifts cancel, and so does the transform along rows if the mask is (.., 1, x): one axis is left of two.
    """
    check_precision(image, "an image")
    axes = YX[1:] if mask.shape[-2] == 1 else YX
    kept = ifftshift(mask, dim=axes).to(image.real.dtype)
    return ifftn(fftn(image, dim=axes) * kept, dim=axes)


def power_spectrum(grid: Float[Tensor, "batch rows columns channels"]) -> Float64[Tensor, "batch rows columns"]:
    """``|F|^2`` of real channels, added over all of them: centred like `fft2c`, unitary, sums in float64."""
    half = grid.shape[2] // 2 + 1
    power = torch.zeros(*grid.shape[:2], half, dtype=torch.float64, device=grid.device)
    for piece in grid.split(PIECE, dim=3):
        spectrum = rfft2(piece, dim=(1, 2), norm="ortho")
        power += (spectrum.real.square() + spectrum.imag.square()).sum(dim=3, dtype=torch.float64)
    return fftshift(_both_halves(power, grid.shape[2]), dim=YX)


def _both_halves(power: Tensor, columns: int) -> Tensor:
    """Complete the half that is computed for real values: a frequency and its negative have the same power."""
    mirrored = power[..., 1 : (columns + 1) // 2].flip(-1)
    rows = -torch.arange(power.shape[-2], device=power.device) % power.shape[-2]
    return torch.cat([power, mirrored[..., rows, :]], dim=-1)


def check_precision(values: Tensor, what: str) -> None:
    """Refuse what is not complex64 or complex128; k-space held in half precision is wrong by 0.2 %."""
    if values.dtype not in PRECISIONS:
        raise InputError(
            f"Expected {what} in complex64 or complex128, got {values.dtype}. Convert it with .to(torch.complex64), "
            "or real and imaginary channels with somamba.physics.channels.to_complex."
        )


def centre_crop(image: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """The central part of the last two axes, padded with zeros if need be; pixel ``n // 2`` stays at ``n // 2``."""
    for axis, wanted in zip((-2, -1), size, strict=True):
        start = image.shape[axis] // 2 - wanted // 2
        stop = start + wanted
        widths = [(0, 0)] * image.ndim
        widths[axis] = (max(0, -start), max(0, stop - image.shape[axis]))
        inside = np.arange(max(0, start), min(stop, image.shape[axis]))
        image = np.pad(image.take(inside, axis=axis), widths)
    return np.ascontiguousarray(image)


def crop_kspace(kspace: NDArray[np.complex64], size: tuple[int | None, int | None]) -> NDArray[np.complex64]:
    """K-space of the central part of the image; without a width (a trimmed readout) columns stay as acquired."""
    height, width = (
        length if wanted is None else wanted for wanted, length in zip(size, kspace.shape[-2:], strict=True)
    )
    if (height, width) == kspace.shape[-2:]:
        return kspace
    image = centre_crop(ifft2c(torch.from_numpy(kspace)).numpy(), (height, width))
    cropped = fft2c(torch.from_numpy(image)).numpy()
    if width == kspace.shape[-1]:
        # A column that was never acquired must stay exactly zero: that is how it is told from a weak one.
        cropped = np.where(kspace.any(axis=(0, 1)), cropped, 0)
    return cropped.astype(np.complex64)
