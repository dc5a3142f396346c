"""NumPy archives (.npz) for the reading process: members are looked at without unpacking, and read in parts."""

import struct
import zipfile
import zlib
from typing import Any

from somamba.files.formats.kept_open import KEPT, identity
from somamba.files.formats.npy import Allocate, Layout, read_layout, read_rows
from somamba.files.limits import RefusedError, check_members, check_unpacking, n_bytes

COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What numpy writes. Other methods shrink zeros a hundred times more, and need much memory to unpack."""


class Member:
    """An open member of an archive, read from its front to its end as far as requests allow."""

    def __init__(self, path: str, name: str) -> None:
        self._archive = zipfile.ZipFile(path)
        try:
            self._stream: Any = open_member(self._archive, name)
            self._layout = read_checked(self._archive, name, self._stream)
            self._first = self._stream.tell()
        except BaseException:
            self._archive.close()
            raise

    def read(self, rows: tuple[int, int], allocate: Allocate) -> None:
        """Read rows; those after the last reading cost no second unpacking of what is before them."""
        read_rows(self._stream, self._first, self._layout, rows, allocate)

    def close(self) -> None:
        """Close the member and its archive."""
        self._stream.close()
        self._archive.close()


def open_member(archive: zipfile.ZipFile, name: str) -> Any:
    """A stream of the unpacked bytes of a member."""
    info = archive.getinfo(name)
    if info.compress_type not in COMPRESSIONS:
        raise RefusedError(f"{name!r} is compressed by method {info.compress_type}, which numpy does not write")
    if info.flag_bits & 1:
        raise RefusedError(f"{name!r} is encrypted")
    return archive.open(info)


def read_checked(archive: zipfile.ZipFile, name: str, stream: Any) -> Layout:
    """Read the header of a member and compare what it declares with what the archive says of it.

    Args:
        archive: The archive.
        name: The name of the member.
        stream: The unpacked member, read from its beginning.
    """
    layout, info = read_layout(stream), archive.getinfo(name)
    declared, unpacked = n_bytes(layout.shape, layout.dtype.itemsize), info.file_size - stream.tell()
    if declared > unpacked:
        raise RefusedError(f"{name!r}: {declared} bytes were declared, {unpacked} are there")
    check_unpacking(declared, info.compress_size)
    return layout


def inspect_npz(path: str) -> dict[str, Any]:
    """The arrays of the archive, and the members that are not arrays of numbers."""
    arrays: dict[str, Any] = {}
    refused: dict[str, str] = {}
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        check_members(len(names))
        if twice := {name for name in names if names.count(name) > 1}:
            raise RefusedError(f"it has several members named {min(twice)!r}")
        for name in names:
            key = name.removesuffix(".npy")
            try:
                if key == name:
                    raise RefusedError(f"{name!r} does not end in .npy, as numpy names arrays")
                with open_member(archive, name) as stream:
                    arrays[key] = read_checked(archive, name, stream).declared()
            except RefusedError as reason:
                refused[key] = str(reason)
            except (ValueError, EOFError, struct.error, zipfile.BadZipFile, zlib.error) as reason:
                refused[key] = f"{name!r} is damaged or no array ({str(reason).splitlines()[0][:200]})"
    return {"arrays": arrays, "refused": refused}


def read_npz(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read rows of one member; what comes before them is unpacked and dropped, what comes after is not touched.

    Args:
        path: The .npz file.
        name: The name of the member.
        start: The first row.
        stop: The row after the last one.
        allocate: Gives the memory for the answer.
    """
    member = KEPT.get((*identity(path), name), lambda: Member(path, f"{name}.npy"))
    member.read((start, stop), allocate)
