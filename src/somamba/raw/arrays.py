"""From an array of k-space, in a file or in memory, to a `RawScan`: what NumPy, BART, fastMRI and Python callers share.

How the array is arranged (axes, centre, phase encoding) is found here, once for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.limits import READ_BYTES
from somamba.files.reading import BLOCK_BYTES, ArrayInfo, Volume, read
from somamba.physics.fourier import crop_kspace
from somamba.raw.coil_maps import with_placed_maps
from somamba.raw.layout import AXES, Arrangement, Choices, find_arrangement, find_axes, maps_axes
from somamba.raw.noise import noise_of_edges
from somamba.raw.raw_scan import RawScan, slice_with_signal
from somamba.raw.sampling import find_sampling

MASK_NOTE = "The mask that came with it was applied."
LARGEST = 8192
"""The most rows or columns of k-space that are believed."""


def check_slice(path: Path, coils: int, height: int, width: int) -> None:
    """Refuse slices of k-space that are larger than one reading may be, whatever few bytes the file has for them.

    Args:
        path: The file, for the message.
        coils: Coils of a slice.
        height: Rows of a slice.
        width: Columns of a slice.
    """
    if 8 * coils * height * width > READ_BYTES:
        raise DataError(
            f"{path}: its slices of {coils} x {height} x {width} samples (coils, rows, columns) are more than "
            f"{READ_BYTES >> 20} MiB of k-space each, which is not read."
        )


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


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredArray:
    """An array of complex numbers as a file stores it, or as a caller has it in memory."""

    path: Path
    """The file, for messages; the name of the argument for an array in memory."""
    name: str
    """The name of the array within its file."""
    shape: tuple[int, ...]
    """Its shape, without a last axis of two for real and imaginary parts."""
    read: Callable[[int, int], NDArray[np.complex64]]
    """Reads it from one number of the first axis to another (exclusive)."""

    def volume(self, axes: Sequence[str]) -> Volume:
        """The array as ``(slices, coils, y, x)`` complex64.

        Raises:
            DataError: the number of axes does not fit, or slices are too large or too small to be k-space.
        """
        if len(axes) != len(self.shape):
            raise DataError(
                f"{self.path}: {self.name!r} has {len(self.shape)} axes, {self.shape}, but {len(axes)} are named: "
                f"{', '.join(axes)}."
            )
        sizes = dict(zip(axes, self.shape, strict=True))
        full = tuple(sizes.get(axis, 1) for axis in AXES)
        if max(full[2:]) > LARGEST or min(full[2:]) < 2 or min(full) < 1:
            raise DataError(
                f"{self.path}: {self.name!r} has slices of {full[2]} x {full[3]}; 2 x 2 to {LARGEST} x {LARGEST} are "
                "read, of at least one coil."
            )
        check_slice(self.path, *full[1:])
        lazy = axes[0] == "slices"
        reading = partial(_read_axes, self, tuple(axes), lazy)
        # If slices are not the first axis, the whole array has to be read for each of them.
        slice_bytes = 8 * int(np.prod(full[1:])) if lazy else 1
        return Volume(shape=full, read=Buffered(reading, full[0], slice_bytes))


def stored_array(path: Path, name: str, info: ArrayInfo) -> StoredArray:
    """One array of a file, which must be complex or have a last axis of two for real and imaginary parts.

    Args:
        path: The file.
        name: The name of the array.
        info: What the file declares about it.
    """
    pairs = info.dtype.kind == "f" and len(info.shape) > 2 and info.shape[-1] == 2
    if info.dtype.kind != "c" and not pairs:
        raise DataError(
            f"{path}: {name!r} is {info.dtype} {info.shape}. K-space is complex, or has a last axis of two for real "
            "and imaginary parts. Images without k-space are read as NIfTI (.nii.gz), and k-space is simulated from "
            "them."
        )

    def read_complex(start: int, stop: int) -> NDArray[np.complex64]:
        values = read(path, name, start, stop)
        return single_precision(values[..., 0] + 1j * values[..., 1] if pairs else values, path, name)

    return StoredArray(path=path, name=name, shape=info.shape[:-1] if pairs else info.shape, read=read_complex)


def single_precision(values: NDArray[Any], path: Path, name: str) -> NDArray[np.complex64]:
    """Values as complex64; those that are not finite in single precision are refused.

    Args:
        values: The values.
        path: The file, for the message.
        name: The name of the array, for the message.
    """
    with np.errstate(over="ignore"):
        single = values.astype(np.complex64, copy=False)
    if not np.isfinite(single).all():
        raise DataError(
            f"{path}: {name!r} holds NaN, infinity, or values too large for single precision (3e38); repair or scale "
            "it first."
        )
    return single


def _read_axes(array: StoredArray, axes: tuple[str, ...], lazy: bool, start: int, stop: int) -> NDArray[np.complex64]:
    values = array.read(*((start, stop) if lazy else (0, array.shape[0])))
    values = values.transpose([axes.index(axis) for axis in AXES if axis in axes])
    values = np.expand_dims(values, [place for place, axis in enumerate(AXES) if axis not in axes])
    return values if lazy else values[start:stop]


@dataclass(frozen=True, kw_only=True)
class Stored:
    """K-space as it lies in a file or in memory, and what is known about it."""

    path: Path
    format: str
    volume: Volume
    centred: bool | None
    """Whether the zero frequency is in the middle; None if it has to be found."""
    may_be_rolled: bool
    """Whether the format leaves open where the middle of the image is."""
    mask: NDArray[np.bool_] | None = None
    """Acquired samples, (x,) or (y, x), if they are known."""
    maps: Volume | None = None
    rows: int | None = None
    """Rows to trim an oversampled readout to."""
    columns: int | None = None
    """Columns of the picture that is wanted."""
    voxel: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()


def open_array(
    array: StoredArray,
    choices: Choices,
    *,
    format_name: str,
    mask: NDArray[np.bool_] | None = None,
    maps: StoredArray | None = None,
) -> RawScan:
    """A raw scan from an array whose arrangement nothing else tells.

    Args:
        array: The k-space.
        choices: What the user says about it; the rest is found.
        format_name: What it is, for people.
        mask: Acquired samples, (x,) or (y, x) of the array as it is stored.
        maps: Coil maps in the order of the k-space's axes, or (coils, y, x), or (slices, coils, y, x).

    Raises:
        DataError: an array that is not k-space, or whose mask or maps do not fit; it says what to do.
    """
    axes = choices.axes or find_axes(array.path, array.shape, array.read)
    notes = []
    if choices.axes is None:
        notes.append(f"Its axes {array.shape} were taken for ({', '.join(axes)}); --axes (axes=) says otherwise.")
    volume = array.volume(axes)
    if mask is not None:
        check_mask(mask, volume.shape, array.path)
        notes.append(MASK_NOTE)
    stored = Stored(
        path=array.path,
        format=format_name,
        volume=volume,
        centred=choices.centred,
        may_be_rolled=True,
        mask=mask,
        maps=None if maps is None else maps_volume(maps, volume.shape, axes),
        notes=tuple(notes),
    )
    return replace(raw_scan_from(stored), stacked="slices" in axes)


def maps_volume(maps: StoredArray, shape: tuple[int, ...], axes: tuple[str, ...] = ()) -> Volume:
    """Coil maps as (1 or slices, coils, y, x).

    Args:
        maps: The array.
        shape: The k-space they belong to, as (slices, coils, y, x).
        axes: The axes of that k-space in the order in which it is stored, if they are known.
    """
    order = maps_axes(maps.shape, dict(zip(AXES, shape, strict=True)), axes)
    if order is None:
        raise DataError(
            f"{maps.path}: coil maps (coils, y, x) or (slices, coils, y, x) of shape {maps.shape} do not fit k-space "
            f"of shape {shape}. Give maps of the same coils and size, for one slice or for all."
        )
    return maps.volume(order)


def check_mask(mask: NDArray[np.bool_], shape: tuple[int, ...], path: Path) -> None:
    """Refuse a mask that does not fit k-space of a shape (slices, coils, y, x), or keeps nothing.

    Args:
        mask: The mask.
        shape: The shape of k-space.
        path: The file, for the message.
    """
    if mask.shape not in (shape[-1:], shape[-2:]):
        raise DataError(f"{path}: a mask for k-space {shape} must be {shape[-1:]} or {shape[-2:]}, got {mask.shape}.")
    if not mask.any():
        raise DataError(f"{path}: its mask keeps no sample; it must be 1 where a sample was acquired.")


def raw_scan_from(stored: Stored) -> RawScan:
    """Find out how the array has to be turned, and make a raw scan of it."""

    def masked(start: int, stop: int) -> NDArray[np.complex64]:
        kspace = stored.volume.read(start, stop)
        # Not a product: that would leave negative zeros, from which the sign of what was measured can be read.
        return kspace if stored.mask is None else np.where(stored.mask, kspace, np.complex64(0))

    volume = Volume(shape=stored.volume.shape, read=masked)
    sample = volume.slice(slice_with_signal(volume, stored.path))
    arrangement = find_arrangement(sample, stored.path, centred=stored.centred, may_be_rolled=stored.may_be_rolled)
    # What the header says of the readout does not hold if rows turn out to be the phase encoding.
    rows = None if arrangement.transposed else stored.rows
    arranged = torch.from_numpy(_arranged(sample[None], arrangement, rows)[0])
    sampling = find_sampling(arranged)
    height, width = stored.volume.shape[2:]
    scan = RawScan(
        path=stored.path,
        format=stored.format,
        volume=Volume(
            shape=(*stored.volume.shape[:2], *arranged.shape[-2:]),
            read=lambda start, stop: _arranged(masked(start, stop), arrangement, rows),
        ),
        image_shape=(rows or height, min(width, stored.columns or width)),
        voxel=stored.voxel,
        noise=noise_of_edges(arranged, sampling),
        coil_maps=None if stored.maps is None else arranged_maps(stored.maps, arrangement.transposed),
        transposed=arrangement.transposed,
        notes=(*stored.notes, *arrangement.notes()),
    )
    return scan if scan.coil_maps is None else with_placed_maps(scan)


def _arranged(block: NDArray[np.complex64], arrangement: Arrangement, rows: int | None) -> NDArray[np.complex64]:
    turned = arrangement.apply(block)
    return turned if rows is None else np.stack([crop_kspace(kspace, (rows, None)) for kspace in turned])


def arranged_maps(maps: Volume, transposed: bool) -> Volume:
    """Coil maps with rows and columns exchanged, if those of k-space were."""
    if not transposed:
        return maps
    return Volume(
        shape=(*maps.shape[:2], maps.shape[3], maps.shape[2]),
        read=lambda start, stop: maps.read(start, stop).swapaxes(-2, -1),
    )
