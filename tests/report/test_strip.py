"""Images in a row, drawn without matplotlib."""

import io

import numpy as np
from PIL import Image

from somamba.report.strip import CAPTION, HEIGHT, MARGIN, draw_strip


def test_images_stand_side_by_side_enlarged_and_clipped():
    ramp = np.linspace(-0.5, 1.5, 64 * 32).reshape(64, 32)
    with Image.open(io.BytesIO(draw_strip({"one": ramp, "two": np.zeros((64, 32))}))) as picture:
        pixels = np.asarray(picture)
        assert picture.info["Software"] == "somamba"
    assert pixels.shape == (HEIGHT + CAPTION, 2 * 128 + MARGIN)
    first, second = pixels[CAPTION:, :128], pixels[CAPTION:, 128 + MARGIN :]
    assert (first[0, 0], first[-1, -1]) == (0, 255)
    assert np.array_equal(first[::4, ::4], np.round(255 * np.clip(ramp, 0, 1)))
    assert not second.any()
    assert pixels[:CAPTION, :128].min() < 128
