"""PNG for a quick look: up to 16 slices of the first volume side by side, grey from 0 to the 99.5th percentile.

The provenance is a ``tEXt`` chunk of that name; ``Comment`` tells which slices are shown, and what white stands for.
"""

import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo

from somamba.durable import replace_file
from somamba.errors import DataError
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.stamp import RESEARCH, StoredResult, foreign, stamp, stored_result

MOST = 16
PERCENTILE = 99.5


def write_png(reconstruction: Reconstruction, path: Path) -> None:
    """Write one picture."""
    shown = shown_slices(reconstruction.stack)
    pictures = reconstruction.magnitudes[shown]
    white = float(np.percentile(pictures, PERCENTILE))
    told = PngInfo()
    grid = mosaic(np.round(255 * np.clip(pictures / (white or 1), 0, 1)).astype(np.uint8))
    told.add_text("provenance", stamp(reconstruction, (grid,)))
    told.add_text("Comment", f"Slices {', '.join(map(str, shown))}; white is {white:g} and above. {RESEARCH}")
    buffer = io.BytesIO()
    Image.fromarray(grid).save(buffer, format="PNG", pnginfo=told)
    replace_file(path, buffer.getvalue(), shared=True)


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


def png_result(path: Path) -> StoredResult:
    """What a picture that is there says about itself."""
    try:
        with Image.open(path, formats=["PNG"]) as image:
            text = image.info.get("provenance")
    except (UnidentifiedImageError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise foreign(path) from error
    if not isinstance(text, str):
        raise foreign(path)

    def pixels() -> Iterator[NDArray[np.uint8]]:
        try:
            with Image.open(path, formats=["PNG"]) as image:
                yield np.asarray(image)
        except (SyntaxError, Image.DecompressionBombError) as error:
            raise DataError(f"{path}: it is damaged.") from error

    return stored_result(text, path, pixels)
