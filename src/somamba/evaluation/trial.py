"""A fully sampled scan put to the test: samples are left out, methods fill them in, the whole scan judges."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.evaluation.metrics import Scores, score
from somamba.inference.coil_maps import estimated_maps
from somamba.inference.recover import MeasuredSlice, Method, recover, whole_image
from somamba.inference.undersampling import Undersampling
from somamba.physics.masks import SamplingMask

Picture = NDArray[np.complex64]


@dataclass(frozen=True, eq=False)
class Trial:
    """The same samples, maps and reference for every method."""

    measured: MeasuredSlice
    """Its maps are estimated from the calibration lines that the mask keeps."""
    mask: SamplingMask
    reference: Picture
    """The whole scan, combined with the same maps: its magnitude judges."""

    def attempt(self, name: str, method: Method) -> "Attempt":
        """Let one method try."""
        began = time.perf_counter()
        image = recover(method, self.measured)
        seconds = time.perf_counter() - began
        if image is None:
            raise InputError("There is no signal in the samples that were kept.")
        return Attempt(name, image.numpy(), score(image.abs(), np.abs(self.reference)), seconds)


@dataclass(frozen=True, eq=False)
class Attempt:
    """What one method made of it."""

    method: str
    image: Picture
    scores: Scores
    seconds: float


def undersample(kspace: Tensor, undersampling: Undersampling) -> Trial:
    """Leave samples out of one slice.

    Args:
        kspace: Fully sampled (coils, y, x), centred, at least two coils.
        undersampling: What is kept.

    Raises:
        InputError: k-space that is not complete, or too few calibration lines to estimate maps from.
    """
    if kspace.ndim != 3 or not bool((kspace != 0).any(dim=0).all()):
        raise InputError(f"A trial needs a fully sampled slice (coils, y, x), got {tuple(kspace.shape)} with gaps.")
    mask = undersampling.pattern((kspace.shape[1], kspace.shape[2]), coils=kspace.shape[0])
    kept = torch.where(mask.pattern, kspace, 0)
    maps = estimated_maps(kept)
    return Trial(MeasuredSlice(kspace=kept, mask=mask.pattern, maps=maps), mask, whole_image(kspace, maps).numpy())
