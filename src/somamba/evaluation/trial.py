"""A fully sampled scan put to the test: columns are left out, methods fill them in, the whole scan judges."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.evaluation.metrics import Scores, score
from somamba.physics.coils import combine, espirit
from somamba.physics.encoding import encoding
from somamba.physics.fourier import ifft2c
from somamba.physics.masks import SamplingMask, equispaced
from somamba.physics.operator import LinearOperator
from somamba.physics.scale import zero_filled_scale

Picture = NDArray[np.complex64]


@dataclass(frozen=True, eq=False)
class Trial:
    """The same samples, maps and reference for every method."""

    y: Tensor
    """Measurements (1, coils, y, x), scaled as a network expects them."""
    A: LinearOperator
    mask: SamplingMask
    maps: Tensor
    """Estimated from the calibration lines that the mask acquires."""
    reference: Picture
    """The whole scan, combined with the same maps: its magnitude judges."""

    def attempt(self, method: str, reconstruct: Callable[[Tensor, LinearOperator], Tensor]) -> "Attempt":
        """Let one method ``(y, A) -> (1, 1, y, x)`` try; where no coil sees anything the image is set to zero."""
        began = time.perf_counter()
        with torch.inference_mode():
            seen = (self.maps != 0).any(dim=1)[0]
            image = torch.where(seen, reconstruct(self.y, self.A)[0, 0], 0)
        seconds = time.perf_counter() - began
        return Attempt(method, image.numpy(), score(image.abs(), np.abs(self.reference)), seconds)


@dataclass(frozen=True, eq=False)
class Attempt:
    """What one method made of it."""

    method: str
    image: Picture
    scores: Scores
    seconds: float


def undersample(kspace: Tensor, *, acceleration: int | float, calibration: int) -> Trial:
    """Leave columns out of one slice.

    Args:
        kspace: Fully sampled (1, coils, y, x), at least two coils.
        acceleration: All columns over those that are kept, the calibration lines among them.
        calibration: Columns kept around the centre.

    Raises:
        InputError: k-space that is not complete, or a mask that cannot be made.
    """
    if kspace.ndim != 4 or not bool((kspace != 0).any(dim=1).all()):
        raise InputError(f"A trial needs a fully sampled slice (1, coils, y, x), got {tuple(kspace.shape)} with gaps.")
    mask = equispaced(kspace.shape[-1], acceleration, center_fraction=calibration / kspace.shape[-1])
    y = torch.where(mask.tensor(), kspace, 0)
    maps = espirit(y, calibration_width=calibration)
    A = encoding(mask.tensor(), maps)
    scale = zero_filled_scale(y, A)
    reference = combine(ifft2c(kspace / scale), maps)[0, 0]
    return Trial(y / scale, A, mask, maps, reference.numpy())
