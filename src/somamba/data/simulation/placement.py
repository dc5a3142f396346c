"""An object in a field of view: an image turned, mirrored and fitted into it, then seen at the scan's resolution.

The image is placed on a grid finer than the scan's. Its spectrum is then cut to the scan's, as a scanner cuts it, so
edges ring as they do in scans and no part of k-space is empty because of the interpolation.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float
from torch import Tensor

from somamba.data.simulation.anatomy import FAINT, Picture, contrast, depth_below, head
from somamba.data.simulation.fat import with_fat
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.scale import brightness

FINER = 1.5
"""Points of the fine grid for every pixel of the scan."""
LARGEST = 1.1
"""The most pixels of a scan for one of the image: more would leave the outer part of k-space empty."""
TILT = 12
"""The largest angle in degrees between an object and the axes."""


@dataclass(frozen=True)
class View:
    """What a scan sees: so many rows and columns, and the share of each that an object fills."""

    shape: tuple[int, int]
    fill: tuple[float, float]


def placed(image: Picture, view: View, draw: np.random.Generator) -> Float[Tensor, "fine_y fine_x"]:
    """The image, turned by about a multiple of 90 degrees and perhaps mirrored, on the fine grid of a view.

    Args:
        image: The image.
        view: The grid on which it is placed.
        draw: Draws angle, zoom and shift.
    """
    image = torch.rot90(image, int(draw.integers(4)))
    if draw.uniform() < 0.5:
        image = image.flip(-1)
    angle = math.radians(draw.uniform(-TILT, TILT))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    zoom, middles, shifts = [], [], []
    # Grids have x before y.
    for axis in (1, 0):
        first, last = _extent(image, axis)
        length, share = view.shape[axis], view.fill[axis]
        zoom.append(min(share * length / (last - first), LARGEST))
        middles.append((first + last) / image.shape[axis] - 1)
        shifts.append(length * draw.uniform(-0.5, 0.5) * max(0.0, 0.9 - share))
    scan = np.array(view.shape[::-1]) / 2
    source = np.array(image.shape[::-1]) / 2
    # From places on the grid (-1 to 1) to pixels of the scan, to pixels of the image, to places in the image.
    linear = turn / np.array(zoom)[:, None]
    matrix = linear * scan[None, :] / source[:, None]
    offset = np.array(middles) - linear @ np.array(shifts) / source
    theta = torch.from_numpy(np.column_stack([matrix, offset])[None]).float()
    grid = F.affine_grid(theta, [1, 1, *(int(FINER * length) for length in view.shape)], align_corners=False)
    return F.grid_sample(image[None, None], grid, mode="bicubic", align_corners=False)[0, 0].clamp_(min=0)


def dressed(
    image: Picture, draw: np.random.Generator, *, stripped: bool, scalp: float | int, fat: float | int
) -> Complex[Tensor, "y x"]:
    """Another contrast, a head around a brain that has lost it, and the phase of fat.

    Args:
        image: An object on its grid.
        draw: Random numbers.
        stripped: Whether this is a brain without its skull; whole heads keep the contrast of the scanner as often as
            they get another one.
        scalp: How often a brain gets a head.
        fat: How often the fat of a whole object gets a phase of its own.
    """
    if stripped or draw.uniform() < 0.5:
        image = contrast(image, draw)
    if not stripped and draw.uniform() < fat:
        return with_fat(image, draw)
    if not stripped or draw.uniform() >= scalp:
        return image.to(torch.complex64)
    bright = brightness(image)
    layers, _ = head(depth_below(image > FAINT * bright, draw), draw)
    # Fat is off resonance: its phase is another one than that of the brain.
    phase = torch.polar(torch.tensor(1.0), torch.tensor(draw.uniform(-math.pi, math.pi), dtype=torch.float32))
    outer = bright * layers
    return torch.where(outer > image, outer * phase, image.to(torch.complex64))


def at_resolution(fine: Complex[Tensor, "fine_y fine_x"], shape: tuple[int, int]) -> Complex[Tensor, "y x"]:
    """What a scan of this many rows and columns sees of an object on a finer grid."""
    spectrum = fft2c(fine)
    for axis, length in enumerate(shape):
        spectrum = spectrum.narrow(axis, fine.shape[axis] // 2 - length // 2, length)
    return ifft2c(spectrum) * math.sqrt(math.prod(shape) / fine.numel())


def _extent(image: Picture, axis: int) -> tuple[int, int]:
    """The first row or column of the object, and the one after its last."""
    lit = (image > 2 * FAINT * brightness(image)).float().mean(dim=1 - axis) > 0.02
    found = lit.nonzero().flatten()
    return (int(found[0]), int(found[-1]) + 1) if len(found) > 1 else (0, image.shape[axis])
