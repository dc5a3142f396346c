"""What a notebook and a PNG file show of a scan: one grey picture of its slices."""

import math

import numpy as np
from numpy.typing import NDArray

MOST = 16
"""Most slices in one picture."""
PERCENTILE = 99.5
"""Percentile of the magnitudes that is drawn white."""


def overview(magnitudes: NDArray[np.float32]) -> tuple[NDArray[np.uint8], list[int], float]:
    """Draw slices ``(slices, rows, columns)`` side by side.

    Returns:
        The picture; the numbers of the slices that it shows; the magnitude that is white.
    """
    shown = shown_slices(len(magnitudes))
    pictures = magnitudes[shown]
    white = float(np.percentile(pictures, PERCENTILE))
    return mosaic(np.round(255 * np.clip(pictures / (white or 1), 0, 1)).astype(np.uint8)), shown, white


def shown_slices(stack: int) -> list[int]:
    """All slices, or some from the first to the last one, evenly spaced."""
    return [round(place) for place in np.linspace(0, stack - 1, min(stack, MOST)).tolist()]


def mosaic(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pictures in reading order on a grid that is about square; places that are left over are black."""
    across = math.ceil(math.sqrt(len(pictures)))
    down = math.ceil(len(pictures) / across)
    rows, columns = pictures.shape[1:]
    grid = np.zeros((down * across, rows, columns), dtype=np.uint8)
    grid[: len(pictures)] = pictures
    return grid.reshape(down, across, rows, columns).swapaxes(1, 2).reshape(down * rows, across * columns)
