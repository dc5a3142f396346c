"""Fat below the skin of a whole object: it is bright, and off resonance, so its phase is another one than water's.

Magnitude images do not tell that phase. Without it a network learns that heads are as smooth in phase as water is, and
does worse on scans, whose scalp is brighter than all else and turned against it.
"""

import math

import numpy as np
import torch
from jaxtyping import Complex
from scipy.ndimage import binary_fill_holes, distance_transform_edt
from torch import Tensor

from somamba.data.simulation.anatomy import FAINT, Picture
from somamba.physics.scale import brightness

COARSER = 2
"""Depths are measured on every second row and column."""


def depth_inside(lit: Picture) -> Picture:
    """How deep a pixel lies below the outline of an object, in radii of a disc of its area; 0 outside."""
    coarse = lit[::COARSER, ::COARSER].numpy() > 0
    solid = np.pad(binary_fill_holes(coarse), 1)
    depth = distance_transform_edt(solid)[1:-1, 1:-1] / math.sqrt(max(solid.sum(), 1) / math.pi)
    fine = torch.from_numpy(depth.astype(np.float32)).repeat_interleave(COARSER, 0).repeat_interleave(COARSER, 1)
    return fine[: lit.shape[0], : lit.shape[1]]


def fat_share(image: Picture, draw: np.random.Generator) -> Picture:
    """How much of each pixel is fat, 0 to 1: what is bright and lies less deep than a drawn depth."""
    bright = max(brightness(image), 1e-12)
    deepest, dimmest = draw.uniform((0.08, 0.3), (0.3, 0.6))
    shallow = ((deepest - depth_inside((image > FAINT * bright).float())) / 0.02).clamp(0, 1)
    return shallow * ((image / bright - dimmest) / 0.1 + 0.5).clamp(0, 1)


def with_fat(image: Picture, draw: np.random.Generator) -> Complex[Tensor, "y x"]:
    """The image with fat of another phase and, more or less suppressed or weighted, of another brightness.

    Args:
        image: A whole object.
        draw: Random numbers.
    """
    share = fat_share(image, draw)
    strength = math.exp(draw.uniform(math.log(0.4), math.log(4)))
    turn = torch.polar(torch.tensor(strength), torch.tensor(draw.uniform(-math.pi, math.pi), dtype=torch.float32))
    return image * (1 - share) + image * share * turn
