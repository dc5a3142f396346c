"""The readouts of an ISMRMRD (MRD version 1) file, for the reading process: heads as one table, readouts as arrays.

A group of the file, usually ``dataset``, holds ``xml``, the header, and ``data``, a list of acquisitions: each a head,
a trajectory and its samples of every coil, real and imaginary in turn.
"""

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from somamba.files.formats.npy import Allocate
from somamba.files.limits import READ_BYTES, RefusedError, check_rows

NUMBERS_OF_A_HEAD = (
    *("number_of_samples", "active_channels", "discard_pre", "discard_post", "center_sample"),
    *("encoding_space_ref", "trajectory_dimensions", "sample_time_us"),
)
COUNTERS = (
    *("kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast"),
    *("phase", "repetition", "set", "segment"),
)
VECTORS = ("position", "read_dir", "phase_dir", "slice_dir")
COLUMNS = (
    *("flags_low", "flags_high", *NUMBERS_OF_A_HEAD, *COUNTERS),
    *(f"{name}_{axis}" for name in VECTORS for axis in "xyz"),
)
"""The columns of the table of heads. Flags come as two halves of 32 bits, each exact as a float64."""
FLOAT64, COMPLEX64 = np.dtype("<f8").newbyteorder("="), np.dtype("<c8").newbyteorder("=")
HEADS_AT_ONCE = 1 << 14
READOUTS_AT_ONCE = 1 << 10
"""How many acquisitions are taken from the file at once; what they hold is only known when they are there."""


def is_acquisitions(dataset: h5py.Dataset) -> bool:
    """Whether this looks like the ``data`` of an ISMRMRD file."""
    return dataset.dtype.names == ("head", "traj", "data") and dataset.ndim == 1


def declared_heads(dataset: h5py.Dataset) -> dict[str, Any]:
    """What is said about the table of heads before it is read."""
    return {"shape": [dataset.shape[0], len(COLUMNS)], "dtype": "<f8"}


def read_heads(dataset: h5py.Dataset, start: int, stop: int, allocate: Allocate) -> None:
    """Read heads as a table with `COLUMNS`; the samples are not touched.

    Args:
        dataset: The acquisitions.
        start: The first one.
        stop: The one after the last.
        allocate: Gives the memory for the answer.
    """
    check_rows((dataset.shape[0], len(COLUMNS)), FLOAT64.itemsize, start, stop)
    table = allocate((stop - start, len(COLUMNS)), FLOAT64)
    for first in range(start, stop, HEADS_AT_ONCE):
        last = min(first + HEADS_AT_ONCE, stop)
        table[first - start : last - start] = _heads(dataset, first, last)


def _heads(dataset: h5py.Dataset, start: int, stop: int) -> NDArray[np.float64]:
    heads = dataset.fields("head")[start:stop]
    flags = heads["flags"].astype(np.uint64)
    columns = [flags & np.uint64(0xFFFFFFFF), flags >> np.uint64(32)]
    columns += [heads[name] for name in NUMBERS_OF_A_HEAD]
    columns += [heads["idx"][name] for name in COUNTERS]
    columns += [heads[name][:, axis] for name in VECTORS for axis in range(3)]
    return np.stack([column.astype(np.float64) for column in columns], axis=1)


def read_readouts(dataset: h5py.Dataset, start: int, stop: int, allocate: Allocate) -> None:
    """Read acquisitions of equal size as (acquisitions, coils, samples).

    What a head declares must be what is stored. The stored size is unknown until it is read, so the first readings are
    short: a file whose acquisitions are all far too large is refused at the first one.

    Args:
        dataset: The acquisitions.
        start: The first one.
        stop: The one after the last.
        allocate: Gives the memory for the answer.
    """
    if h5py.check_vlen_dtype(dataset.dtype["data"]) != np.float32:
        raise RefusedError("its samples are not pairs of 32-bit floats")
    check_rows((dataset.shape[0], 1), 1, start, stop)
    sizes: set[tuple[int, int]] = set()
    for first in range(start, stop, HEADS_AT_ONCE):
        heads = _heads(dataset, first, min(first + HEADS_AT_ONCE, stop))
        sizes |= {
            (int(row[COLUMNS.index("active_channels")]), int(row[COLUMNS.index("number_of_samples")])) for row in heads
        }
    if len(sizes) != 1:
        raise RefusedError(f"acquisitions {start} to {stop} differ in coils or samples")
    ((coils, samples),) = sizes
    if not 0 < coils * samples * (stop - start) * COMPLEX64.itemsize <= READ_BYTES:
        raise RefusedError(f"acquisitions {start} to {stop} declare {coils} coils and {samples} samples each")
    readouts = allocate((stop - start, coils, samples), COMPLEX64)
    pairs = readouts.reshape(stop - start, coils * samples).view(np.float32)
    for first, last in _growing(start, stop):
        values = dataset.fields("data")[first:last]
        if wrong := {len(one) for one in values} - {2 * coils * samples}:
            raise RefusedError(
                f"an acquisition declares {coils} coils and {samples} samples but stores {min(wrong) // 2} values"
            )
        for row, one in enumerate(values, first - start):
            pairs[row] = one


def _growing(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Pairs of first and last: one acquisition, then twice as many, up to `READOUTS_AT_ONCE`."""
    step = 1
    while start < stop:
        yield start, min(start + step, stop)
        start, step = start + step, min(2 * step, READOUTS_AT_ONCE)
