"""PNG outputs show the slices in reading order, from black at zero to white at the 99.5th percentile."""

import numpy as np
import pytest
from PIL import Image

from inference.writers.made import made
from somamba.inference.overview import mosaic, shown_slices
from somamba.inference.writers.writing import write


def opened(path):
    with Image.open(path) as image:
        return np.asarray(image), dict(image.text)


def test_slices_are_laid_out_in_reading_order(tmp_path):
    write(made(slices=5), tmp_path / "a.png")
    pixels, _ = opened(tmp_path / "a.png")
    assert pixels.shape == (2 * 6, 3 * 8)
    magnitudes = made(slices=5).magnitudes
    white = np.percentile(magnitudes, 99.5)
    expected = np.round(255 * np.clip(magnitudes / white, 0, 1))
    assert np.abs(pixels[:6, :8] - expected[0]).max() <= 1
    assert np.abs(pixels[:6, 16:] - expected[2]).max() <= 1
    assert np.abs(pixels[6:, 8:16] - expected[4]).max() <= 1
    assert not pixels[6:, 16:].any()


def test_the_picture_tells_which_slices_and_what_white_is(tmp_path):
    write(made(slices=4, volumes=2), tmp_path / "a.png")
    _, texts = opened(tmp_path / "a.png")
    assert texts["Comment"].startswith("Slices 0, 1; white is 0.000")
    assert texts["Comment"].endswith("not for diagnosis.")


def test_an_empty_reconstruction_is_black(tmp_path):
    write(made(scale=0.0), tmp_path / "a.png")
    assert not opened(tmp_path / "a.png")[0].any()


@pytest.mark.parametrize("stack", [1, 2, 16, 17, 181])
def test_at_most_sixteen_slices_are_shown_from_first_to_last(stack):
    shown = shown_slices(stack)
    assert len(shown) == len(set(shown)) == min(stack, 16)
    assert (shown[0], shown[-1]) == (0, stack - 1)
    assert shown == sorted(shown)


def test_a_single_slice_is_itself():
    slices = np.arange(12, dtype=np.uint8).reshape(1, 3, 4)
    np.testing.assert_array_equal(mosaic(slices), slices[0])
