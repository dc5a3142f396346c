"""ESPIRiT on a coarse grid, enlarged: the maps of `espirit` in a fraction of its time, to draw scans to learn from.

What ESPIRiT solves at a pixel depends on a few waves across the field of view only. So it is solved on a coarse grid,
from the same calibration samples, and interpolated in between.
"""

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from somamba.physics.coils.maps import uncropped_espirit
from somamba.shapes import CoilImages

GRID = 64
"""Rows and columns of the coarse grid: six points for the shortest wave of a kernel of six samples."""
CROP = 0.8
"""Pixels whose eigenvalue is lower have no signal, as in `espirit`."""
ITERATIONS = 15
"""Iterations of the power method, half as many as `espirit` takes."""


@torch.no_grad()
def coarse_espirit(kspace: CoilImages, *, calibration_width: int = 24) -> CoilImages:
    """Estimate maps of unit norm where there is signal, zero elsewhere, as `espirit` does.

    Args:
        kspace: Centred k-space with a fully acquired centre of at least six rows and columns.
        calibration_width: Rows and columns of the centre to use.
    """
    height, width = kspace.shape[-2:]
    # The centre of k-space is the same image at a lower resolution, so its maps are the maps at fewer places.
    coarse = _centre(_centre(kspace, -2), -1)
    maps, eigenvalues = uncropped_espirit(coarse, calibration_width=calibration_width, iterations=ITERATIONS)
    along_y, along_x = (_finer(min(GRID, size), size) for size in (height, width))
    parts = torch.stack([maps.real, maps.imag]).nan_to_num()
    fine = torch.complex(*(along_y @ parts @ along_x.mT))
    energy = fine.real.square().add_(fine.imag.square()).sum(dim=1, keepdim=True)
    seen = along_y @ eigenvalues.nan_to_num() @ along_x.mT > CROP
    return fine * torch.where(seen & (energy > 0), energy.rsqrt(), 0)


def _centre(kspace: Tensor, axis: int) -> Tensor:
    size = kspace.shape[axis]
    return kspace.narrow(axis, size // 2 - min(GRID, size) // 2, min(GRID, size))


@lru_cache(maxsize=64)
def _finer(n: int, size: int) -> Float[Tensor, "size n"]:
    """What every one of ``n`` places across a field of view contributes to each of ``size``: linear, and periodic."""
    places = (torch.arange(size, dtype=torch.float64) - size // 2) * (n / size) + n // 2
    apart = (places[:, None] - torch.arange(n)).abs()
    return (1 - torch.minimum(apart, n - apart)).clamp(min=0).float()
