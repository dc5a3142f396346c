"""The lines of an ISMRMRD file: the kind of each, by its head, and the picture that it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.formats.ismrmrd import COLUMNS
from somamba.files.reading import read

NOISE, CALIBRATION, CALIBRATION_AND_IMAGING, REVERSE = 19, 20, 21, 22
OTHERS = (23, 24, 26, 27, 28, 29, 30, 31)
"""Navigators, phase correction, feedback, dummy scans, coil correction, phase stabilisation: no part of a picture."""
COMPRESSED = (53, 54, 55, 56)
FRAME = ("set", "repetition", "phase", "contrast", "slice")
"""What numbers pictures, slices varying fastest."""


@dataclass(frozen=True, eq=False)
class Lines:
    """The table of heads, by name."""

    path: Path
    group: str
    heads: Float[np.ndarray, "lines columns"]

    def column(self, name: str) -> Float[np.ndarray, " lines"]:
        """One column of the table: a number of every line."""
        return self.heads[:, COLUMNS.index(name)]

    def vector(self, name: str, line: int) -> Float[np.ndarray, "3"]:
        """A position or direction of one line."""
        start = COLUMNS.index(f"{name}_x")
        return self.heads[line, start : start + 3]

    def flagged(self, *flags: int) -> Bool[np.ndarray, " lines"]:
        """Lines with any of these flags, numbered from 1 as the standard does."""
        low, high = (self.column(name).astype(np.uint64) for name in ("flags_low", "flags_high"))
        found = np.zeros(len(self.heads), dtype=bool)
        for flag in flags:
            half, bit = (low, flag - 1) if flag <= 32 else (high, flag - 33)
            found |= (half >> np.uint64(bit)) & np.uint64(1) != 0
        return found

    def read(self, numbers: Int[np.ndarray, " lines"]) -> list[NDArray[np.complex64]]:
        """Readouts (coils, samples) of these lines, neighbours at once."""
        sizes = self.heads[:, [COLUMNS.index("active_channels"), COLUMNS.index("number_of_samples")]]
        breaks = 1 + np.flatnonzero((np.diff(numbers) != 1) | (np.diff(sizes[numbers], axis=0) != 0).any(axis=1))
        readouts: list[NDArray[np.complex64]] = []
        for run in np.split(numbers, breaks):
            readouts += list(read(self.path, f"{self.group}/data", int(run[0]), int(run[-1]) + 1))
        return readouts


def read_lines(path: Path, group: str, count: int) -> Lines:
    """All heads of a file; lines that cannot be understood are refused.

    Args:
        path: The ISMRMRD file.
        group: The group of the measurement.
        count: The number of acquisitions.
    """
    lines = Lines(path, group, read(path, f"{group}/head", 0, count))
    if lines.flagged(*COMPRESSED).any():
        raise DataError(f"{path}: its samples are compressed (flags 53 to 56). Write it again without compression.")
    return lines


def imaging_lines(lines: Lines, *, separate_calibration: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the lines that make pictures, and of those of a separate calibration scan."""
    usable = ~lines.flagged(NOISE, *OTHERS) & (lines.column("encoding_space_ref") == 0)
    only_calibration = usable & lines.flagged(CALIBRATION) & ~lines.flagged(CALIBRATION_AND_IMAGING)
    calibration = only_calibration if separate_calibration else np.zeros_like(usable)
    imaging = usable & ~calibration
    if not imaging.any():
        raise DataError(f"{lines.path}: none of its {len(lines.heads)} acquisitions belongs to a picture.")
    if (usable & lines.flagged(REVERSE)).any():
        raise DataError(
            f"{lines.path}: some readouts run backwards (echo-planar imaging), which needs a phase correction that is "
            "not done here. Correct them first and store plain Cartesian lines."
        )
    if np.ptp(lines.column("kspace_encode_step_2")[usable]) > 0:
        raise DataError(
            f"{lines.path}: it is 3-D, encoded along a second phase direction. Only 2-D slices are read: transform "
            "along kspace_encode_step_2 first and store its partitions as slices."
        )
    if (coils := np.unique(lines.column("active_channels")[usable])).size != 1:
        raise DataError(f"{lines.path}: its lines have {coils.astype(int).tolist()} coils; they must have the same.")
    return np.flatnonzero(imaging), np.flatnonzero(calibration)


def frames(lines: Lines, numbers: NDArray[np.int64]) -> Mapping[tuple[int, ...], NDArray[np.int64]]:
    """The lines of every picture, in the order in which pictures are counted."""
    keys = np.stack([lines.column(name)[numbers].astype(np.int64) for name in FRAME], axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    bounds = np.searchsorted(inverse.ravel()[order], np.arange(len(unique) + 1))
    return {
        tuple(int(number) for number in key): numbers[order[bounds[index] : bounds[index + 1]]]
        for index, key in enumerate(unique)
    }
