"""Training slices moved at random: mirrored, turned, tilted. An image that could have been, before it is measured."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.data.prepare import unit_range
from somamba.data.simulation.anatomy import moved
from somamba.data.simulation.scanner import generator
from somamba.data.simulation.seeds import Draw

TILT = 15
"""The largest angle of a tilt, in degrees."""
ZOOM = (0.95, 1.2)
"""The least and the largest zoom. Little of what lies beyond the image comes into view."""
SHIFT = 0.06
"""The largest shift, in halves of the image."""
LEAST_RANGE = 0.25
"""A tilted image whose range is smaller, where the slice has 1, is not used: the slice stays as it is."""


@dataclass(frozen=True, kw_only=True)
class Orientation:
    """Which moves may be drawn; by default none."""

    mirror: bool = False
    """Exchange left and right with probability 1/2."""
    turn: bool = False
    """Turn by 0, 90, 180 or 270 degrees; by 0 or 180 if the image is not square, so that its size stays."""
    tilt: float | int = 0.0
    """The probability of a tilt, a zoom and a shift, after which the image has its range of 0 to 1 again."""

    def apply(self, image: NDArray[Any], draw: Draw) -> NDArray[Any]:
        """The image in the orientation drawn for it; the same names give the same one.

        Args:
            image: (y, x).
            draw: Names slice and epoch.
        """
        if self.mirror or self.turn:
            image = self._turned(image, draw.of("orientation"))
        if self.tilt:
            image = self._tilted(image, draw.of("tilt"))
        return image

    def _turned(self, image: NDArray[Any], seed: int) -> NDArray[Any]:
        """Mirrored or not, and turned by a multiple of 90 degrees: no pixel gets another value."""
        quarters = seed // 2 % 4 if self.turn else 0
        if image.shape[0] != image.shape[1]:
            quarters -= quarters % 2
        mirrored = image[:, ::-1] if self.mirror and seed % 2 else image
        return np.ascontiguousarray(np.rot90(mirrored, quarters))

    def _tilted(self, image: NDArray[Any], seed: int) -> NDArray[Any]:
        """Tilted, zoomed and shifted by interpolation, with the probability ``tilt``; mirrored beyond its edges."""
        rng = generator(seed)
        if rng.uniform() >= self.tilt:
            return image
        angle, zoom = math.radians(rng.uniform(-TILT, TILT)), rng.uniform(*ZOOM) * np.ones(2)
        picture = torch.from_numpy(np.array(image, dtype=np.float32))
        made = moved(picture, angle, zoom, rng.uniform(-SHIFT, SHIFT, 2), outside="reflection").numpy()
        scaled = unit_range(made)
        # A view that lost the bright parts would be scaled up with its noise.
        return image if scaled is None or np.ptp(made) < LEAST_RANGE else scaled
