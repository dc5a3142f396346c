"""Calgary-Campinas raw brain k-space: single-channel .npy and 12-channel HDF5 (Souza et al. 2018).

Single-channel: ``Train/e14080s3_P18944.7.npy`` (slices, 256, 256, 2), last axis real and imaginary. Multi-channel:
``Train/*.h5`` with ``kspace`` (slices, y, x, 24), real and imaginary parts interleaved. In both the readout was already
transformed, so every slice is a two-dimensional k-space of its own, **uncentred**: ``ifft2`` without any shift gives
the image. The paper's 10 test subjects are the official ``Val`` folder.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.data.readers.folders import official_folders
from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read

ROLES: Mapping[str, Role] = {"Train": "train", "Val": "test"}


def find(root: Path, *, suffix: str) -> Listing:
    """List the files of the official folders."""
    entries = [
        Entry(id=name, subject=name, role=role, files=(path,), root=root)
        for folder, role in official_folders(root, ROLES, "CC359")
        for path in sorted(folder.glob(f"*{suffix}"))
        for name in [path.name.removesuffix(suffix)]
    ]
    left_out = [
        LeftOut(name=path.name, reason="in the official Test folder, which the paper does not use")
        for path in sorted((root / "Test").glob(f"*{suffix}"))
    ]
    return Listing(entries=tuple(entries), left_out=tuple(left_out))


def open_case(entry: Entry, *, array: str) -> Case | LeftOut:
    """Check one file and return its case; ``array`` is where the values are: ``array`` (.npy) or ``kspace`` (HDF5)."""
    (path,) = entry.files
    slices, height, width, parts = inspect(path).array(array, axes=4, kinds="f").shape
    if parts % 2 or (array == "array" and parts != 2):
        raise DataError(f"{path}: the last axis should hold real and imaginary parts, it has length {parts}.")
    if height % 2 or width % 2:
        raise DataError(f"{path}: {height} x {width} is odd; CC359 slices are even, and centring them relies on it.")
    shape = (slices, parts // 2, height, width)
    return Case(id=entry.id, source=str(path), kspace=Volume(shape=shape, read=partial(read_kspace, path, array)))


def read_kspace(path: Path, array: str, start: int, stop: int) -> NDArray[np.complex64]:
    """Slices of k-space, centred, coils first.

    Args:
        path: The file.
        array: The name of its array.
        start: The first slice.
        stop: The slice after the last one.
    """
    stored = read(path, array, start, stop).astype(np.float32, copy=False)
    coils_first = np.moveaxis(stored, -1, 1)
    kspace = np.empty((stop - start, stored.shape[-1] // 2, *stored.shape[1:-1]), dtype=np.complex64)
    kspace.real, kspace.imag = coils_first[:, ::2], coils_first[:, 1::2]
    return centred(kspace)


def centred(kspace: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """Turn k-space whose image is ``ifft2(kspace)`` into one whose same image is ``ifft2c(kspace)``; even sizes only.

    The shift of the image by half its size is a change of sign of every other frequency, so not one bit is lost.
    """
    height, width = kspace.shape[-2:]
    sign = np.where(np.add.outer(np.arange(height), np.arange(width)) % 2, -1, 1).astype(np.float32)
    return np.fft.fftshift(kspace * sign, axes=(-2, -1))
