"""How much the reading process (`somamba.files.reader_process`) may use for one file, and what it refuses to read."""

from typing import Any

import numpy as np

READ_BYTES = 1 << 27
"""The most one request returns, and the largest chunk of an HDF5 dataset: 64 coils of 512 x 512 samples."""
PRIVATE_BYTES = 1 << 29
"""Memory that the reading process may allocate beyond what it uses after its start. Unpacking the largest chunk of an
HDF5 dataset takes three times its size."""
DECLARED_BYTES = 1 << 37
"""The largest array that is read, in parts: the biggest fastMRI volume is a hundred times smaller."""
BY_COLUMNS_BYTES = 1 << 30
"""The largest array in Fortran order: it is passed through from its front to its end for every reading."""
UNPACKING = 100
"""How many times larger than its compressed form an array of more than READ_BYTES may be. Undersampled k-space is
mostly zero and shrinks ten times, segmentations fifty times."""
CPU_SECONDS = 4
"""Processor time for one file, whatever its size; see `cpu_seconds`."""
STORED_BYTES_PER_SECOND = 20 << 20
RETURNED_BYTES_PER_SECOND = 100 << 20
"""Larger files, and requests that return more, may take longer. Unpacking and copying are several times faster."""
NUMBERS = "fciub"
"""Kinds of numpy types that are read."""
MEMBERS = 256
"""How many members a file may have."""
TEXT_CHARACTERS = 1 << 20
"""The longest text that is read, and the most of all texts of a file together."""


class RefusedError(ValueError):
    """A file, or a member of a file, that is perhaps well formed but must not be read."""


def cpu_seconds(stored: int, returned: int) -> float:
    """Processor time that all requests about one file may take together.

    Args:
        stored: The size of the file on the disk in bytes.
        returned: How many bytes the requests have returned so far.
    """
    return CPU_SECONDS + stored / STORED_BYTES_PER_SECOND + returned / RETURNED_BYTES_PER_SECOND


def n_bytes(shape: tuple[int, ...], itemsize: int) -> int:
    """The size of an array; exact, however large the declared numbers are."""
    size = itemsize
    for length in shape:
        size *= int(length)
    return size


def check_array(shape: tuple[int, ...] | None, dtype: "np.dtype[Any]") -> None:
    """Refuse what is not a plausible stack of slices, before anything is allocated."""
    if dtype.kind not in NUMBERS or dtype.itemsize > 16:
        raise RefusedError(f"type {dtype} is not a number of at most 16 bytes")
    if shape is None or not 1 <= len(shape) <= 5 or min(shape) < 1:
        raise RefusedError(f"shape {shape} is not that of a stack of slices")
    if (size := n_bytes(shape, dtype.itemsize)) > DECLARED_BYTES:
        raise RefusedError(f"it declares an array of {size / 2**30:.0f} GiB, shape {shape}")


def check_unpacking(declared: int, stored: int) -> None:
    """Refuse an array that is far too large for its compressed form.

    Args:
        declared: Bytes of the array.
        stored: Bytes of its compressed form in the file.
    """
    if declared > READ_BYTES and declared > UNPACKING * stored:
        raise RefusedError(
            f"it would unpack {stored:,} bytes to {declared:,}; scans shrink less than {UNPACKING} times when they "
            "are compressed"
        )


def check_rows(shape: tuple[int, ...], itemsize: int, start: int, stop: int) -> None:
    """Refuse rows that do not exist or do not fit.

    Args:
        shape: The shape of the whole array.
        itemsize: Bytes of one value as it is returned.
        start: The first row.
        stop: The row after the last one.
    """
    if not 0 <= start < stop <= shape[0]:
        raise RefusedError(f"rows {start} to {stop} do not exist in shape {shape}")
    if (size := n_bytes((stop - start, *shape[1:]), itemsize)) > READ_BYTES:
        raise RefusedError(
            f"reading rows {start} to {stop} of shape {shape} takes {size / 2**20:,.0f} MiB at once; at most "
            f"{READ_BYTES >> 20} MiB are read"
        )


def check_members(count: int) -> None:
    """Refuse a file with more members than are looked at: a wanted one could be among the rest."""
    if count > MEMBERS:
        raise RefusedError(f"it has {count:,} members; files with at most {MEMBERS} are read")
