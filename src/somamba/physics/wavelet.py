"""An orthonormal wavelet transform of images, Daubechies' of four vanishing moments (``db4``), with periodic edges.

One level of it is a matrix for every axis, small enough to be multiplied with. The coarse part is transformed again,
level by level. An image whose sides cannot be halved often enough is padded with zeros first.
"""

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from somamba.shapes import Images

LOW_PASS = (
    0.2303778133088965,
    0.7148465705529157,
    0.6308807679298589,
    -0.027983769416859854,
    -0.18703481171909309,
    0.030841381835560764,
    0.0328830116668852,
    -0.010597401785069032,
)
"""Daubechies' filter of eight taps, of unit norm."""
LEVELS = 4
"""How often the coarse part is transformed again; a side is padded to a multiple of ``2**LEVELS``."""


def shrink(images: Images, threshold: float | Tensor, *, shift: tuple[int, int] = (0, 0)) -> Images:
    """Shorten every wavelet coefficient by ``threshold``, and those that are shorter to zero; the coarse part stays.

    This is the proximal step of ``threshold |W x|_1``.

    Args:
        images: Complex (batch, channels, y, x).
        threshold: A number, or one for every image (batch, 1, 1, 1).
        shift: Rows and columns to move the image by before, and back after. The transform depends on where its blocks
            lie; drawing another place in every iteration leaves no trace of them.
    """
    height, width = images.shape[-2:]
    sizes = padded_size(height), padded_size(width)
    padded = torch.nn.functional.pad(images, (0, sizes[1] - width, 0, sizes[0] - height))
    moved = torch.roll(padded, shift, dims=(-2, -1))
    kept = _shrunk(torch.stack([moved.real, moved.imag]), threshold, LEVELS)
    back = torch.roll(torch.complex(kept[0], kept[1]), (-shift[0], -shift[1]), dims=(-2, -1))
    return back[..., :height, :width]


def padded_size(length: int) -> int:
    """The length of a side with the zeros that are needed to halve it `LEVELS` times."""
    return -(-length // 2**LEVELS) * 2**LEVELS


def _shrunk(
    parts: Float[Tensor, "2 *batch y x"], threshold: float | Tensor, levels: int
) -> Float[Tensor, "2 *batch y x"]:
    """One level of the transform, the shorter coefficients, and the way back."""
    rows, columns = (_analysis(size, parts.dtype, parts.device) for size in parts.shape[-2:])
    bands = rows @ parts @ columns.mT
    size = bands.square().sum(dim=0).sqrt()
    # If a coefficient is zero its factor does not matter; it must only be finite.
    gain = (1 - threshold / size.clamp(min=torch.finfo(size.dtype).tiny)).clamp(min=0)
    small = bands * gain
    half = bands.shape[-2] // 2, bands.shape[-1] // 2
    coarse = bands[..., : half[0], : half[1]]
    small[..., : half[0], : half[1]] = coarse if levels == 1 else _shrunk(coarse, threshold, levels - 1)
    return rows.mT @ small @ columns


@lru_cache(maxsize=32)
def _analysis(size: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "size size"]:
    """The orthogonal matrix of one level: coarse coefficients first, then details."""
    matrix = torch.zeros(size, size, dtype=torch.float64)
    for tap, weight in enumerate(LOW_PASS):
        for row in range(size // 2):
            matrix[row, (2 * row + tap) % size] += weight
            matrix[size // 2 + row, (2 * row + len(LOW_PASS) - 1 - tap) % size] += -weight if tap % 2 else weight
    return matrix.to(dtype).to(device)
