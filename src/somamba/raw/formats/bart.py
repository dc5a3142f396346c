"""BART's pairs of files, ``name.cfl`` and ``name.hdr``. Always centred; readout and phase encoding first.

A slice of a 3-D scan, whose readout was transformed before, has both phase encodings instead: (1, y, z, coils).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read
from somamba.raw.arrays import LARGEST, Stored, raw_scan_from
from somamba.raw.layout import Choices
from somamba.raw.raw_scan import RawScan


def open_cfl(path: Path, choices: Choices) -> RawScan:
    """K-space of one or several frames or slices; without a coil axis, of one coil."""
    # BART's own files are centred by definition; images among them are told by where their energy is.
    stored = Stored(
        path=path, format="BART (.cfl, .hdr)", volume=cfl_volume(path), centred=choices.centred, may_be_rolled=False
    )
    return raw_scan_from(stored)


def cfl_volume(path: Path) -> Volume:
    """The array as (frames, coils, readout, phase encoding), or with two phase encodings."""
    frames, coils, partitions, phases, readout = inspect(path).arrays["array"].shape
    if readout == 1 and min(phases, partitions) > 1:
        return _volume(path, (frames, coils, phases, partitions), lambda block: block[..., 0].swapaxes(-2, -1))
    if readout == 1 or (readout == 3 and coils == 1):
        raise DataError(
            f"{path}: its first axis has length {readout}, as in a trajectory, a mask or radial k-space. Only "
            "Cartesian k-space is read, (readout, phase encoding, 1, coils) or (1, phase encoding, phase encoding, "
            "coils): bart nufft -i, bart fft -u 3 make it."
        )
    if partitions > 1:
        raise DataError(
            f"{path}: it is 3-D, with {partitions} partitions. Transform along them, and make them slices: "
            "bart fft -u -i 4 ksp hybrid; bart transpose 2 13 hybrid slices."
        )
    return _volume(path, (frames, coils, readout, phases), lambda block: block[:, :, 0].swapaxes(-2, -1))


def _volume(
    path: Path, shape: tuple[int, int, int, int], slices: Callable[[NDArray[np.complex64]], NDArray[np.complex64]]
) -> Volume:
    """Frames that are read when they are asked for, with their two axes of k-space exchanged to (y, x)."""
    if not all(2 <= size <= LARGEST for size in shape[2:]):
        raise DataError(f"{path}: {shape[2]} x {shape[3]} samples are no slice of k-space.")
    return Volume(shape=shape, read=lambda start, stop: np.ascontiguousarray(slices(read(path, "array", start, stop))))
