"""BART's pairs of files, ``name.cfl`` and ``name.hdr``. Always centred; readout and phase encoding first."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Volume
from somamba.errors import DataError
from somamba.files.reading import inspect, read
from somamba.inference.raw.arrays import LARGEST, Stored, raw_scan_from
from somamba.inference.raw.choices import Choices
from somamba.inference.raw.raw_scan import RawScan


def open_cfl(path: Path, choices: Choices) -> RawScan:
    """K-space of one or several frames or slices; without a coil axis, of one coil."""
    # BART's own files are centred by definition; images among them are told by where their energy is.
    stored = Stored(
        path=path, format="BART (.cfl, .hdr)", volume=cfl_volume(path), centred=choices.centred, may_be_rolled=False
    )
    return raw_scan_from(stored)


def cfl_volume(path: Path) -> Volume:
    """The array as (frames, coils, readout, phase encoding)."""
    frames, coils, partitions, phases, readout = inspect(path).arrays["array"].shape
    if readout == 1 or (readout == 3 and coils == 1):
        raise DataError(
            f"{path}: its first axis has length {readout}, as in a trajectory, a mask or radial k-space. Only "
            "Cartesian k-space (readout, phase encoding, 1, coils) is read: bart nufft -i, bart fft -u 3 make it."
        )
    if partitions > 1:
        raise DataError(
            f"{path}: it is 3-D, with {partitions} partitions. Transform along them, and make them slices: "
            "bart fft -u -i 4 ksp hybrid; bart transpose 2 13 hybrid slices."
        )
    if not (2 <= phases <= LARGEST and 2 <= readout <= LARGEST):
        raise DataError(f"{path}: {readout} x {phases} samples are no slice of k-space.")

    def read_frames(start: int, stop: int) -> NDArray[np.complex64]:
        return np.ascontiguousarray(read(path, "array", start, stop)[:, :, 0].swapaxes(-2, -1))

    return Volume(shape=(frames, coils, readout, phases), read=read_frames)
