"""NumPy archives (.npz) for the reading process: members are looked at without unpacking, and read in parts."""

import zipfile
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from somamba.files.limits import MEMBERS, Answer, RefusedError, array_answer, check_array, check_rows

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Member(NamedTuple):
    """What the header of one member declares."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: "np.dtype[Any]"


def inspect_npz(path: str) -> Answer:
    """The arrays of the archive, and the members that are not arrays of numbers."""
    arrays: dict[str, Any] = {}
    refused: dict[str, str] = {}
    with zipfile.ZipFile(path) as archive:
        for name in islice(archive.namelist(), MEMBERS):
            try:
                with archive.open(name) as stream:
                    member = read_header(stream)
            except RefusedError as reason:
                refused[name.removesuffix(".npy")] = str(reason)
                continue
            arrays[name.removesuffix(".npy")] = {"shape": list(member.shape), "dtype": member.dtype.str}
    return Answer({"arrays": arrays, "refused": refused})


def read_npz(path: str, name: str, start: int, stop: int) -> Answer:
    """Rows of one member; what comes before them is unpacked and dropped, what comes after is not touched."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        member = read_header(stream)
        check_rows(member.shape, member.dtype.itemsize, start, stop)
        if member.by_columns:
            # Rows are scattered over the whole of such an array.
            check_rows(member.shape, member.dtype.itemsize, 0, member.shape[0])
            return array_answer(take(stream, member.shape[::-1], member.dtype).T[start:stop])
        row = member.dtype.itemsize * int(np.prod(member.shape[1:]))
        stream.seek(start * row, 1)
        return array_answer(take(stream, (stop - start, *member.shape[1:]), member.dtype))


def read_header(stream: Any) -> Member:
    """Shape and type of a member, checked."""
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise RefusedError(f"version {version} of the .npy format is not known")
    member = Member(*HEADERS[version](stream))
    check_array(member.shape, member.dtype)
    return member


def take(stream: Any, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """The next values of a stream."""
    size = dtype.itemsize * int(np.prod(shape))
    content = stream.read(size)
    if len(content) != size:
        raise EOFError(f"{size} bytes were declared, {len(content)} are there")
    return np.frombuffer(content, dtype=dtype).reshape(shape)
