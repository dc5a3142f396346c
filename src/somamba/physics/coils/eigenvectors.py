"""The largest eigenvalues of ESPIRiT's matrix (coils x coils) at every pixel, and their eigenvectors.

The matrix of a pixel is a short sum of waves across the field of view, so that neighbouring pixels have nearly the same
eigenvectors. They are found by power iterations on a coarse grid first, and interpolated; few iterations are left to do
at every pixel.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Complex, Float
from torch import Tensor

Offsets = Complex[Tensor, "coils coils dy dx"]
"""The convolution, from each coil to each, whose matrix at a pixel is meant."""
Vectors = Complex[Tensor, "coils y x"]

BLOCK_ENTRIES = 2**18
"""Entries of the pixel matrices held at once: 2 MB in complex64, which a cache holds."""
APART = 4
"""Rows and columns between the pixels of the coarse grid."""
FINE_ITERATIONS = 14
"""Power iterations at every pixel, from the interpolated eigenvectors on."""


def leading_eigenvectors(offsets: Offsets, start: Vectors, iterations: int) -> tuple[Vectors, Float[Tensor, "y x"]]:
    """The eigenvector of the largest eigenvalue at every pixel, and that eigenvalue.

    Args:
        offsets: The convolution.
        start: Vectors to begin with.
        iterations: Power iterations on the coarse grid.

    Returns:
        Vectors of unit norm and eigenvalues; NaN at a pixel of exact zeros.
    """
    # Squares of tiny samples would vanish.
    start = start / start.abs().max()
    coarse, _ = _iterated(offsets, start, iterations, apart=APART)
    height, width = start.shape[1:]
    enlarged = _interpolated(_interpolated(coarse.nan_to_num(), height, 1), width, 2)
    return _iterated(offsets, enlarged, min(iterations, FINE_ITERATIONS))


def second_eigenvectors(
    offsets: Offsets, start: Vectors, leading: Vectors, iterations: int, *, apart: int = 1
) -> tuple[Complex[Tensor, "coils rows columns"], Float[Tensor, "rows columns"]]:
    """The eigenvector of the second eigenvalue, and that eigenvalue.

    Args:
        offsets: The convolution.
        start: Vectors to begin with.
        leading: The eigenvectors of the largest eigenvalue.
        iterations: Power iterations.
        apart: Rows and columns between the pixels; 1 is every pixel.
    """
    start = start / start.abs().max()
    return _iterated(offsets, start, iterations, apart=apart, orthogonal_to=leading.nan_to_num())


def sums_of_eigenvalues(offsets: Offsets, shape: tuple[int, int], *, apart: int = 1) -> Float[Tensor, "rows columns"]:
    """The sum of all eigenvalues at every pixel, which is the trace of its matrix.

    Args:
        offsets: The convolution.
        shape: Rows and columns of the image.
        apart: Rows and columns between the pixels; 1 is every pixel.
    """
    along_y, along_x = (_waves(size, offsets)[::apart] for size in shape)
    return torch.einsum("ccuv,yu,xv->yx", offsets, along_y, along_x).real


def _iterated(
    offsets: Offsets, start: Vectors, iterations: int, *, apart: int = 1, orthogonal_to: Vectors | None = None
) -> tuple[Complex[Tensor, "coils rows columns"], Float[Tensor, "rows columns"]]:
    """Power iterations at pixels that lie ``apart`` from each other, some rows at a time."""
    n_coils, height, width = start.shape
    along_y, along_x = (_waves(size, offsets)[::apart] for size in (height, width))
    columns = torch.einsum("cduv,xv->uxcd", offsets, along_x).flatten(start_dim=1)
    vectors = _by_pixel(start, apart)
    others = None if orthogonal_to is None else _by_pixel(orthogonal_to, apart)
    eigenvalues = vectors.real.new_zeros(vectors.shape[:2])
    n_rows = max(1, BLOCK_ENTRIES // (len(along_x) * n_coils**2))
    for first in range(0, len(along_y), n_rows):
        rows = slice(first, first + n_rows)
        matrices = (along_y[rows] @ columns).reshape(-1, n_coils, n_coils)
        block = vectors[rows].flatten(end_dim=1)
        if others is not None:
            # Without the part along the other vector in domain and range, its eigenvalue becomes zero.
            other = others[rows].flatten(end_dim=1)
            keep = torch.eye(n_coils, dtype=other.dtype, device=other.device) - other @ other.mH
            matrices = keep @ matrices @ keep
            block = keep @ block
        # A pixel without any signal becomes NaN here, so its eigenvalue is not above any crop.
        for _ in range(iterations):
            block = matrices @ (block / _norms(block))
        norms = _norms(block)
        vectors[rows] = (block / norms).reshape(vectors[rows].shape)
        eigenvalues[rows] = norms.reshape(-1, len(along_x))
    return rearrange(vectors, "y x coils 1 -> coils y x"), eigenvalues


def _by_pixel(vectors: Vectors, apart: int) -> Complex[Tensor, "rows columns coils 1"]:
    return rearrange(vectors[:, ::apart, ::apart], "coils y x -> y x coils 1").contiguous()


def _norms(vectors: Complex[Tensor, "pixels coils 1"]) -> Float[Tensor, "pixels 1 1"]:
    """The norm of every vector; the general function takes thirty times as long for vectors that are this short."""
    return torch.view_as_real(vectors).square().sum(dim=(1, 3)).sqrt()[..., None]


def _interpolated(values: Complex[Tensor, "..."], size: int, axis: int) -> Complex[Tensor, "..."]:
    """Values at every pixel of an axis from those at every `APART`-th one: linear, and periodic."""
    places = torch.arange(size, device=values.device)
    before, share = places // APART, (places % APART) / APART
    after = (before + 1) % values.shape[axis]
    shape = [-1 if number == axis else 1 for number in range(values.ndim)]
    shares = share.to(values.real.dtype).reshape(shape)
    return torch.lerp(values.index_select(axis, before), values.index_select(axis, after), shares.to(values.dtype))


def _waves(size: int, offsets: Offsets) -> Complex[Tensor, "size shifts"]:
    """What each shift of the kernel contributes at each pixel of an axis."""
    reach = offsets.shape[-1] // 2
    pixels = torch.arange(size, device=offsets.device, dtype=torch.float64) - size // 2
    shifts = torch.arange(-reach, reach + 1, device=offsets.device, dtype=torch.float64)
    angles = 2 * math.pi / size * torch.outer(pixels, shifts)
    return torch.polar(torch.ones_like(angles), angles).to(offsets.dtype)
