"""What the reading process (`somamba.files.reader_process`) believes of a file, and the form of its answers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEMORY_BYTES = 4 << 30
"""Address space of the reading process."""
READ_BYTES = 1 << 30
"""The most one request may return, and the largest chunk of an HDF5 dataset."""
DECLARED_BYTES = 1 << 37
"""The largest array we believe in: the biggest fastMRI volume is a hundred times smaller."""
NUMBERS = "fciub"
"""Kinds of numpy types that are read."""
MEMBERS = 256
"""How many members of a file are looked at."""
TEXT_CHARACTERS = 1 << 20
"""The longest text that is read."""


class RefusedError(ValueError):
    """A file that is well formed, perhaps, but not to be trusted."""


class Answer(NamedTuple):
    """A JSON header and, for a reading, the array that follows it."""

    header: dict[str, Any]
    array: NDArray[Any] | None = None


def check_array(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> None:
    """Refuse what is not a plausible stack of slices, before anything is allocated."""
    if dtype.kind not in NUMBERS or dtype.itemsize > 16:
        raise RefusedError(f"type {dtype} is not a number of at most 16 bytes")
    if not 1 <= len(shape) <= 5 or min(shape) < 1:
        raise RefusedError(f"shape {shape} is not that of a stack of slices")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size > DECLARED_BYTES:
        raise RefusedError(f"it declares an array of {size / 2**30:.0f} GiB, shape {shape}")


def check_rows(shape: tuple[int, ...], itemsize: int, start: int, stop: int) -> None:
    """Refuse rows that do not exist or do not fit."""
    if not 0 <= start < stop <= shape[0]:
        raise RefusedError(f"rows {start} to {stop} do not exist in shape {shape}")
    size = itemsize * (stop - start)
    for length in shape[1:]:
        size *= length
    if size > READ_BYTES:
        raise RefusedError(f"reading rows {start} to {stop} of shape {shape} takes {size / 2**30:.1f} GiB at once")


def declared(array: NDArray[Any]) -> dict[str, Any]:
    """What is said about an array before it is read."""
    return {"shape": list(array.shape), "dtype": array.dtype.str}


def array_answer(array: NDArray[Any]) -> Answer:
    """An array in native byte order, with the header that describes it."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return Answer({"shape": list(array.shape), "dtype": array.dtype.str, "bytes": array.nbytes}, array)
