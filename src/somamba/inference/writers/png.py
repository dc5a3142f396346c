"""PNG for a quick look: up to 16 slices of the first volume side by side, grey from 0 to the 99.5th percentile.

The provenance is a ``tEXt`` chunk of that name; ``Comment`` tells which slices are shown, and what white stands for.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from somamba.durable import replace_file
from somamba.errors import DataError
from somamba.inference.overview import overview, png
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.stamp import RESEARCH, StoredResult, foreign, stamp, stored_result


def write_png(reconstruction: Reconstruction, path: Path) -> None:
    """Write all slices as one grey picture."""
    grid, shown, white = overview(reconstruction.magnitudes[: reconstruction.stack])
    comment = f"Slices {', '.join(map(str, shown))}; white is {white:g} and above. {RESEARCH}"
    content = png(grid, provenance=stamp(reconstruction, (grid,), sealed=False), Comment=comment)
    replace_file(path, content, shared=True)


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
