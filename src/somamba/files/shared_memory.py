"""Memory that the reading process fills and its parent reads, without a copy between them."""

import mmap
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.files.limits import READ_BYTES

COPIED_BYTES = 1 << 23
"""Smaller arrays are copied: every mapping keeps a file descriptor open, and a program may hold thousands of them."""


def allocate() -> int:
    """A file descriptor of memory for one answer. Pages are taken when they are written, so it costs nothing yet."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), READ_BYTES)
            return os.dup(file.fileno())
    import fcntl  # not on Windows, where this line is never reached

    handle = os.memfd_create("somamba", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(handle, READ_BYTES)
    # The size is final: if the reading process shortened it, touching the mapping would end the parent.
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return handle


def map_array(handle: int, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """The memory as an array that can be written; it stays mapped as long as the array lives.

    Args:
        handle: The file descriptor of the memory.
        shape: The shape of the array.
        dtype: The type of its values.
    """
    size = dtype.itemsize * int(np.prod(shape, dtype=object))
    if not 0 < size <= READ_BYTES:
        raise ValueError(f"an array of {size} bytes does not fit into {READ_BYTES}")
    return np.frombuffer(mmap.mmap(handle, size), dtype=dtype).reshape(shape)


def taken_array(handle: int, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """The array that the reading process left in the memory; small ones are copied, large ones stay where they are.

    Args:
        handle: The file descriptor of the memory.
        shape: The shape of the array.
        dtype: The type of its values.
    """
    array = map_array(handle, shape, dtype)
    return array.copy() if array.nbytes <= COPIED_BYTES else array
