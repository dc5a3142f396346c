"""Pixels survive the way into a page."""

import base64
import io
import zlib

import numpy as np
import pytest
from PIL import Image

from somamba.report.page.pixels import STEPS, magnitude_text, picture_link, spectrum, spectrum_text


def unpacked(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def test_a_magnitude_comes_back_within_half_a_step():
    images = np.random.default_rng(0).normal(size=(2, 5, 7)) + 1j
    peak = float(np.abs(images).max())
    high, low = unpacked(magnitude_text(images, peak)).astype(int).reshape(2, 2, 5, 7)
    steps = np.cumsum(256 * high + low, axis=-1) % 65536
    np.testing.assert_allclose(steps * peak / STEPS, np.abs(images), rtol=0, atol=0.51 * peak / STEPS)


def test_the_spectrum_is_centred_and_orthonormal():
    images = np.random.default_rng(0).normal(size=(1, 5, 6))
    found = spectrum(images)
    assert found[0, 2, 3] == pytest.approx(abs(images.sum()) / np.sqrt(30))
    assert (found**2).sum() == pytest.approx((images**2).sum())


def test_decibels_go_from_the_floor_to_the_peak():
    values = np.array([[[2.0, 0.2, 2e-4, 2e-9, 0.0]]])
    assert unpacked(spectrum_text(values, 2.0)).tolist() == [255, 191, 0, 0, 0]


@pytest.mark.parametrize("image", [np.eye(3, 5, dtype=bool), np.arange(15).reshape(3, 5).astype(np.uint8)])
def test_a_picture_is_a_png_that_another_program_reads(image):
    content = base64.b64decode(picture_link(image).removeprefix("data:image/png;base64,"))
    found = np.asarray(Image.open(io.BytesIO(content)))
    np.testing.assert_array_equal(found, image * 255 if image.dtype == bool else image)
