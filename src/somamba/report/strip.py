"""Grey images side by side with a caption above each: a PNG that needs no matplotlib."""

from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw

from somamba.inference.overview import png
from somamba.report.page.pixels import Numbers

HEIGHT = 256
"""Smallest height of a panel in pixels; smaller images are enlarged by a whole factor."""
MARGIN, CAPTION = 4, 18
"""Pixels between two panels, and above them."""


def draw_strip(images: Mapping[str, Numbers]) -> bytes:
    """Draw images from 0 (black) to 1 (white) in a row.

    Args:
        images: Images of one shape (y, x) by their captions.

    Returns:
        The content of a PNG file, which names somamba as its software.
    """
    rows, columns = next(iter(images.values())).shape
    zoom = -(-HEIGHT // rows)
    height, width = zoom * rows, zoom * columns
    picture = Image.new("L", (len(images) * (width + MARGIN) - MARGIN, height + CAPTION), color=255)
    draw = ImageDraw.Draw(picture)
    for number, (caption, values) in enumerate(images.items()):
        grey = np.round(255 * np.clip(values, 0, 1)).astype(np.uint8)
        panel = Image.fromarray(grey).resize((width, height), Image.Resampling.NEAREST)
        picture.paste(panel, (number * (width + MARGIN), CAPTION))
        draw.text((number * (width + MARGIN) + 2, 3), caption, fill=0)
    return png(np.asarray(picture), Software="somamba")
