"""The readouts of an ISMRMRD (MRD version 1) file, for the reading process: heads as one table, readouts as arrays.

A group of the file, usually ``dataset``, holds ``xml``, the header, and ``data``, a list of acquisitions: each a head,
a trajectory and its samples of every coil, real and imaginary in turn.
"""

from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

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


def is_acquisitions(dataset: h5py.Dataset) -> bool:
    """Whether this looks like the ``data`` of an ISMRMRD file."""
    return dataset.dtype.names == ("head", "traj", "data") and dataset.ndim == 1


def declared_heads(dataset: h5py.Dataset) -> dict[str, Any]:
    """What is said about the table of heads before it is read."""
    return {"shape": [dataset.shape[0], len(COLUMNS)], "dtype": "<f8"}


def read_heads(dataset: h5py.Dataset, start: int, stop: int) -> NDArray[np.float64]:
    """Heads as a table with `COLUMNS`; the samples are not touched."""
    check_rows((dataset.shape[0], dataset.dtype.itemsize), 1, start, stop)
    heads = dataset.fields("head")[start:stop]
    flags = heads["flags"].astype(np.uint64)
    columns = [flags & np.uint64(0xFFFFFFFF), flags >> np.uint64(32)]
    columns += [heads[name] for name in NUMBERS_OF_A_HEAD]
    columns += [heads["idx"][name] for name in COUNTERS]
    columns += [heads[name][:, axis] for name in VECTORS for axis in range(3)]
    return np.stack([column.astype(np.float64) for column in columns], axis=1)


def read_readouts(dataset: h5py.Dataset, start: int, stop: int) -> NDArray[np.complex64]:
    """Acquisitions of equal size as (acquisitions, coils, samples); what a head declares must be what is stored."""
    if h5py.check_vlen_dtype(dataset.dtype["data"]) != np.float32:
        raise RefusedError("its samples are not pairs of 32-bit floats")
    heads = read_heads(dataset, start, stop)
    sizes = {
        (int(row[COLUMNS.index("active_channels")]), int(row[COLUMNS.index("number_of_samples")])) for row in heads
    }
    if len(sizes) != 1:
        raise RefusedError(f"acquisitions {start} to {stop} differ in coils or samples")
    ((coils, samples),) = sizes
    if not 0 < coils * samples * (stop - start) * 8 <= READ_BYTES:
        raise RefusedError(f"acquisitions {start} to {stop} declare {coils} coils and {samples} samples each")
    values = dataset.fields("data")[start:stop]
    if wrong := {len(one) for one in values} - {2 * coils * samples}:
        raise RefusedError(
            f"an acquisition declares {coils} coils and {samples} samples but stores {min(wrong) // 2} values"
        )
    pairs = np.stack(values).astype(np.float32, copy=False)
    return pairs.view(np.complex64).reshape(stop - start, coils, samples)
