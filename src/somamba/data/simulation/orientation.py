"""Training slices mirrored and turned at random: an image that could have been, made before anything is measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.data.simulation.seeds import Draw


@dataclass(frozen=True, kw_only=True)
class Orientation:
    """Which changes of orientation may be drawn; by default none."""

    mirror: bool = False
    """Exchange left and right with probability 1/2."""
    turn: bool = False
    """Turn by 0, 90, 180 or 270 degrees; by 0 or 180 if the image is not square, so that its size stays."""

    def apply(self, image: NDArray[Any], draw: Draw) -> NDArray[Any]:
        """The image in the orientation drawn for it; the same names give the same one.

        Args:
            image: (y, x).
            draw: Names slice and epoch.
        """
        if not (self.mirror or self.turn):
            return image
        seed = draw.of("orientation")
        quarters = seed // 2 % 4 if self.turn else 0
        if image.shape[0] != image.shape[1]:
            quarters -= quarters % 2
        mirrored = image[:, ::-1] if self.mirror and seed % 2 else image
        return np.ascontiguousarray(np.rot90(mirrored, quarters))
