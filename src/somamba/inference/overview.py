"""What a notebook and a PNG file show of a scan: one grey picture of its slices."""

import io
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

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


def png(picture: NDArray[np.uint8], **texts: str) -> bytes:
    """The content of a PNG file of greys, with texts inside."""
    told, content = PngInfo(), io.BytesIO()
    for name, text in texts.items():
        told.add_text(name, text)
    Image.fromarray(picture).save(content, format="PNG", pnginfo=told)
    return content.getvalue()
