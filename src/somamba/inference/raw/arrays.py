"""From an array of k-space, as a file stores it, to a `RawScan`: what NumPy, BART and fastMRI files have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.data.case import BLOCK_BYTES, Volume
from somamba.data.prepare import crop_kspace
from somamba.errors import DataError
from somamba.files.reading import ArrayInfo, read
from somamba.inference.raw.arrangement import Arrangement, find_arrangement
from somamba.inference.raw.noise import noise_of_edges
from somamba.inference.raw.raw_scan import RawScan, slice_with_signal
from somamba.inference.raw.sampling import find_sampling

AXES = ("slices", "coils", "y", "x")
MAPS_KEYS = ("sens_maps", "sensitivity_maps", "sensitivity_map", "coil_maps", "csm", "smaps", "maps")
TRAJECTORY_KEYS = ("traj", "trajectory", "dcf")
LARGEST = 8192
"""Rows or columns of k-space we believe in."""


class Buffered:
    """Reads a block around the wanted slices and keeps the last one: compressed files are unpacked from their start."""

    def __init__(self, read_slices: Callable[[int, int], NDArray[Any]], slices: int, slice_bytes: int) -> None:
        self._read, self._slices = read_slices, slices
        self._step = max(1, BLOCK_BYTES // max(1, slice_bytes))
        self._start, self._block = 0, np.empty(0)

    def __call__(self, start: int, stop: int) -> NDArray[Any]:
        """Slices ``start`` to ``stop``."""
        if not (self._start <= start and stop <= self._start + len(self._block)):
            self._block = self._read(start, max(stop, min(start + self._step, self._slices)))
            self._start = start
        return self._block[start - self._start : stop - self._start]


def stored_volume(path: Path, name: str, info: ArrayInfo, axes: Sequence[str]) -> Volume:
    """One array of a file as ``(slices, coils, y, x)`` complex64; a last axis of two is real and imaginary part."""
    shape = info.shape if info.dtype.kind == "c" else info.shape[:-1]
    sizes = dict(zip(axes, shape, strict=True))
    full = tuple(sizes.get(axis, 1) for axis in AXES)
    if max(full[2:]) > LARGEST or min(full[2:]) < 2:
        raise DataError(
            f"{path}: {name!r} has slices of {full[2]} x {full[3]}; 2 x 2 to {LARGEST} x {LARGEST} are read."
        )
    lazy = axes[0] == "slices"
    reading = partial(_read_axes, path, name, tuple(axes), info.shape[0], lazy)
    slice_bytes = 8 * int(np.prod(full[1:]))
    # Where slices are not the first axis, the whole array has to be read for each of them.
    step_bytes = slice_bytes if lazy else 1
    return Volume(shape=full, read=Buffered(reading, full[0], step_bytes))


def _read_axes(
    path: Path, name: str, axes: tuple[str, ...], rows: int, lazy: bool, start: int, stop: int
) -> NDArray[np.complex64]:
    values = read(path, name, *((start, stop) if lazy else (0, rows)))
    if values.dtype.kind != "c":
        values = values[..., 0] + 1j * values[..., 1]
    values = values.transpose([axes.index(axis) for axis in AXES if axis in axes])
    values = np.expand_dims(values, [place for place, axis in enumerate(AXES) if axis not in axes])
    if not lazy:
        values = values[start:stop]
    with np.errstate(over="ignore"):
        values = values.astype(np.complex64, copy=False)
    if not np.isfinite(values).all():
        raise DataError(f"{path}: values of {name!r} are too large for single precision; scale them down.")
    return values


@dataclass(frozen=True, kw_only=True)
class Stored:
    """K-space as it lies in a file, and what is known about it."""

    path: Path
    format: str
    volume: Volume
    centred: bool | None
    """Whether the zero frequency is in the middle; None to look."""
    may_be_rolled: bool
    """Whether the format leaves open where the middle of the image is."""
    mask: NDArray[np.bool_] | None = None
    """Acquired samples, (x,) or (y, x), where the file tells."""
    maps: Volume | None = None
    rows: int | None = None
    """Rows to trim an oversampled readout to."""
    columns: int | None = None
    """Columns of the picture that is wanted."""
    voxel: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()


def raw_scan_from(stored: Stored) -> RawScan:
    """Find out how the array has to be turned, and make a scan of it."""
    masked = partial(_masked, stored.volume.read, stored.mask)
    volume = Volume(shape=stored.volume.shape, read=masked)
    sample = volume.slice(slice_with_signal(volume, stored.path))
    arrangement = find_arrangement(sample, stored.path, centred=stored.centred, may_be_rolled=stored.may_be_rolled)
    # What the header says of the readout does not hold where rows turn out to be the phase encoding.
    rows = None if arrangement.transposed else stored.rows
    arranged = torch.from_numpy(_arranged(sample[None], arrangement, rows)[0])
    sampling = find_sampling(arranged)
    height, width = stored.volume.shape[2:]
    return RawScan(
        path=stored.path,
        format=stored.format,
        volume=Volume(
            shape=(*stored.volume.shape[:2], *arranged.shape[-2:]),
            read=partial(_read_arranged, masked, arrangement, rows),
        ),
        image_shape=(rows or height, min(width, stored.columns or width)),
        voxel=stored.voxel,
        noise=noise_of_edges(arranged, sampling),
        coil_maps=None if stored.maps is None else arranged_maps(stored.maps, arrangement.transposed),
        transposed=arrangement.transposed,
        notes=(*stored.notes, *arrangement.notes()),
    )


def _masked(
    reading: Callable[[int, int], NDArray[Any]], mask: NDArray[np.bool_] | None, start: int, stop: int
) -> NDArray[np.complex64]:
    kspace = reading(start, stop)
    # Not a product: that would leave negative zeros, from which the sign of what was measured can be read.
    return kspace if mask is None else np.where(mask, kspace, np.complex64(0))


def _read_arranged(
    reading: Callable[[int, int], NDArray[Any]], arrangement: Arrangement, rows: int | None, start: int, stop: int
) -> NDArray[np.complex64]:
    return _arranged(reading(start, stop), arrangement, rows)


def _arranged(block: NDArray[np.complex64], arrangement: Arrangement, rows: int | None) -> NDArray[np.complex64]:
    turned = arrangement.apply(block)
    return turned if rows is None else np.stack([crop_kspace(kspace, (rows, None)) for kspace in turned])


def arranged_maps(maps: Volume, transposed: bool) -> Volume:
    """Coil maps with rows and columns exchanged, where those of k-space were."""
    if not transposed:
        return maps
    return Volume(
        shape=(*maps.shape[:2], maps.shape[3], maps.shape[2]),
        read=lambda start, stop: maps.read(start, stop).swapaxes(-2, -1),
    )
