"""Pixels as text in a page: 16 bits for magnitudes, 8 bits for spectra, deflated, base64; see script/pixels.js."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 65535
"""A magnitude is stored in this many parts of the peak of its case: errors below 1/131070 of it, 102 dB down."""
FLOOR = -80.0
"""Decibels below the peak of the spectrum at which it is drawn black."""

Numbers = NDArray[Any]


def magnitude_text(images: Numbers, peak: float) -> str:
    """Magnitudes of a stack (slices, y, x) in steps of ``peak / 65535``; what lies above the peak is cut."""
    steps = np.rint(np.clip(np.abs(images) / peak, 0, 1) * STEPS).astype(np.uint16)
    # Neighbours are alike: their difference has a high byte that is nearly always the same.
    steps[..., 1:] -= steps[..., :-1].copy()
    return _packed((steps >> 8).astype(np.uint8).tobytes() + (steps & 255).astype(np.uint8).tobytes())


def spectrum(images: Numbers) -> Numbers:
    """Magnitude of the centred orthonormal spectrum of every slice."""
    axes = (-2, -1)
    centred = np.fft.fft2(np.fft.ifftshift(images, axes=axes), norm="ortho")
    return np.abs(np.fft.fftshift(centred, axes=axes))


def spectrum_text(magnitudes: Numbers, peak: float) -> str:
    """Decibels of a spectrum (slices, y, x) against ``peak``, 255 for the peak and 0 for the floor or less."""
    with np.errstate(divide="ignore"):
        decibels = 20 * np.log10(magnitudes / peak)
    shares = np.clip(1 - decibels / FLOOR, 0, 1)
    return _packed(np.rint(255 * shares).astype(np.uint8).tobytes())


def picture_link(image: Numbers) -> str:
    """A (y, x) picture of 8-bit greys, or of truths, as the ``data:`` address of a PNG."""
    grey = image.astype(np.uint8) * 255 if image.dtype == bool else image.astype(np.uint8)
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)  # 0: this line is not filtered
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    parts = [struct.pack(">I", len(data)) + kind + data + _checksum(kind + data) for kind, data in chunks]
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _checksum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()
