"""NumPy arrays (.npy) for the reading process: the header is checked, rows are read in parts, nothing is unpickled.

The same functions read the members of a .npz archive and the values of a .cfl file, which are laid out alike.
"""

from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from somamba.files.limits import BY_COLUMNS_BYTES, READ_BYTES, RefusedError, check_array, check_rows, n_bytes
from somamba.regular_files import open_regular

Allocate = Callable[[tuple[int, ...], "np.dtype[Any]"], NDArray[Any]]
"""Gives an array of this shape and type in the memory that is shared with the parent process."""

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
PIECE_BYTES = 1 << 22
"""How much is read from a stream at once, so that no second copy of an array exists."""


class Layout(NamedTuple):
    """What is declared about an array."""

    shape: tuple[int, ...]
    by_columns: bool
    """Whether the first axis varies fastest (Fortran order)."""
    dtype: "np.dtype[Any]"

    @property
    def native(self) -> "np.dtype[Any]":
        """The type in the byte order of this machine, as it is returned."""
        return self.dtype.newbyteorder("=")

    def declared(self) -> dict[str, Any]:
        """Shape and type as a table of plain values."""
        return {"shape": list(self.shape), "dtype": self.dtype.str}


def inspect_npy(path: str) -> dict[str, Any]:
    """The one array of the file."""
    with open_regular(path) as stream:
        return {"arrays": {"array": open_npy(stream, path).declared()}}


def read_npy(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read rows of the array.

    Args:
        path: The .npy file.
        name: The name of its array.
        start: The first row.
        stop: The row after the last one.
        allocate: Gives the memory for the answer.
    """
    if name != "array":
        raise RefusedError(f"a .npy file has one array, 'array', not {name!r}")
    with open_regular(path) as stream:
        layout = open_npy(stream, path)
        read_rows(stream, stream.tell(), layout, (start, stop), allocate)


def open_npy(stream: BufferedReader, path: str) -> Layout:
    """Read the header of a .npy file, and refuse one that declares more values than the file holds."""
    layout = read_layout(stream)
    wanted, found = n_bytes(layout.shape, layout.dtype.itemsize), Path(path).stat().st_size - stream.tell()
    if wanted > found:
        raise RefusedError(f"it declares {wanted} bytes and holds {found}: it is cut short")
    return layout


def read_layout(stream: Any) -> Layout:
    """Read the header of an array of numbers; the stream is then at the first value."""
    layout = read_header(stream)
    check_array(layout.shape, layout.dtype)
    return layout


def read_header(stream: Any) -> Layout:
    """Read the header of an array of any kind; the stream is then at the first value."""
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise RefusedError(f"version {version} of the .npy format is not known")
    return Layout(*HEADERS[version](stream))


def read_rows(stream: Any, first: int, layout: Layout, rows: tuple[int, int], allocate: Allocate) -> None:
    """Read rows of an array.

    Args:
        stream: The file, or the unpacked bytes of a member.
        first: Where in the stream the values begin.
        layout: What was declared about the array.
        rows: The first row, and the one after the last.
        allocate: Gives the memory for the rows.
    """
    (start, stop), shape, dtype = rows, layout.shape, layout.dtype
    check_rows(shape, dtype.itemsize, start, stop)
    if not layout.by_columns:
        stream.seek(first + start * n_bytes(shape[1:], dtype.itemsize))
        values = allocate((stop - start, *shape[1:]), layout.native)
        fill(stream, values)
        if dtype != layout.native:
            values.byteswap(inplace=True)
        return
    # Rows are scattered over such an array; it is passed through along its last axis, which varies slowest.
    column_bytes, whole_bytes = (n_bytes(some, dtype.itemsize) for some in (shape[:-1], shape))
    if column_bytes > READ_BYTES or whole_bytes > BY_COLUMNS_BYTES:
        raise RefusedError(
            f"an array of shape {shape} in Fortran order is too large to be read in parts; store it in C order "
            "(numpy.ascontiguousarray)"
        )
    stream.seek(first)
    column = np.empty(shape[-2::-1], dtype=dtype)
    values = allocate((stop - start, *shape[1:]), layout.native)
    for index in range(shape[-1]):
        fill(stream, column)
        values[..., index] = column[..., start:stop].T


def fill(stream: Any, array: NDArray[Any]) -> None:
    """Fill an array with the next bytes of a stream."""
    content = array.reshape(-1).view(np.uint8).data
    position = 0
    while position < len(content):
        count = stream.readinto(content[position : position + PIECE_BYTES])
        if not count:
            raise EOFError(f"{len(content)} bytes were declared, {position} are there")
        position += count
