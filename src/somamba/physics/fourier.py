"""The centred, orthonormal 2-D Fourier transform. The only FFT in the package."""

import torch
from torch import Tensor
from torch.fft import fft2, fftshift, ifft2, ifftshift

from somamba.errors import InputError

YX = (-2, -1)
PRECISIONS = (torch.complex64, torch.complex128)
"""What is precise enough for physics; autocast never touches complex tensors, so this holds under it too."""


def fft2c(image: Tensor) -> Tensor:
    """Image to k-space over the last two axes, zero frequency at ``(y // 2, x // 2)``; unitary."""
    check_precision(image, "an image")
    return fftshift(fft2(ifftshift(image, dim=YX), norm="ortho"), dim=YX)


def ifft2c(kspace: Tensor) -> Tensor:
    """k-space to image; the adjoint, and the inverse, of `fft2c`."""
    check_precision(kspace, "k-space")
    return fftshift(ifft2(ifftshift(kspace, dim=YX), norm="ortho"), dim=YX)


def check_precision(values: Tensor, what: str) -> None:
    """Refuse what is not complex64 or complex128; k-space held in half precision is wrong by 0.2 %."""
    if values.dtype not in PRECISIONS:
        raise InputError(
            f"Expected {what} in complex64 or complex128, got {values.dtype}. Convert it with .to(torch.complex64), "
            "or real and imaginary channels with somamba.physics.channels.to_complex."
        )
