"""What a written file says about itself: its provenance, and two SHA-256, as JSON under our own key.

The digests tell a damaged result from a good one: one is of the pixels, the other of the whole file, orientation and
voxel size included. The second cannot hold itself, so it is computed with `UNSEALED` in its place. A PNG file has none,
because its format has sums of its own. A file without a stamp is not ours, and is never replaced.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.reading import FileInfo, read
from somamba.inference.reconstruction import Reconstruction
from somamba.regular_files import open_regular

BLOCK_BYTES = 1 << 26
KEY = "somamba"
DIGEST, FILE_DIGEST = "pixels_sha256", "file_sha256"
KNOWN = {KEY, DIGEST, FILE_DIGEST, "shape", "volumes", "voxel_mm", "affine"}
"""What a stamp may hold; the last four stand in the file beside a NumPy array."""
UNSEALED = hashlib.sha256(b"somamba").hexdigest()
"""Stands in the place of the digest of a file while it is computed."""
RESEARCH = "Research only, not for diagnosis."


@dataclass(frozen=True)
class StoredResult:
    """A result that was found on disk and was written by somamba."""

    provenance: Mapping[str, Any]
    intact: Callable[[], bool]
    """Reads the pixels and tells whether they are those that were written."""


def stamp(reconstruction: Reconstruction, pixels: Iterable[NDArray[Any]], *, sealed: bool = True) -> str:
    """The stamp of a file as one line of ASCII.

    Args:
        reconstruction: What is written.
        pixels: The arrays as the file holds them, in the order in which a reader checks them.
        sealed: Whether the content of the file will be passed through `seal`.
    """
    digests = {DIGEST: pixels_digest(pixels)} | ({FILE_DIGEST: UNSEALED} if sealed else {})
    return json.dumps({KEY: reconstruction.provenance, **digests}, allow_nan=False)


def seal(content: bytes) -> bytes:
    """Put the digest of a file into its stamp."""
    return content.replace(UNSEALED.encode(), hashlib.sha256(content).hexdigest().encode(), 1)


def _is_sealed(stream: BufferedIOBase, digest: str) -> bool:
    """Whether a file, with `UNSEALED` in the place of this digest, has this digest; it is read piece by piece."""
    found, rest = hashlib.sha256(), b""
    while piece := stream.read(BLOCK_BYTES):
        rest = (rest + piece).replace(digest.encode(), UNSEALED.encode())
        cut = max(0, len(rest) - len(digest) + 1)  # the rest may be the beginning of the digest
        found.update(rest[:cut])
        rest = rest[cut:]
    found.update(rest)
    return found.hexdigest() == digest


def pixels_digest(arrays: Iterable[NDArray[Any]]) -> str:
    """The SHA-256 over the bytes of arrays, little-endian and in C order."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def stored_result(
    text: str, path: Path, pixels: Callable[[], Iterable[NDArray[Any]]], *, file: Path | None = None
) -> StoredResult:
    """What a stamp says.

    Args:
        text: The stamp.
        path: The file it was found in.
        pixels: Reads the arrays that the digest was made of, in the same order; called only to check them.
        file: The file that is sealed, if it is another one.

    Raises:
        DataError: the text is no stamp of ours.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, Mapping) or not isinstance(values.get(KEY), dict):
        raise foreign(path)

    def intact() -> bool:
        try:
            # A key that is not known is the damaged name of one that is.
            if values.keys() - KNOWN or pixels_digest(pixels()) != values.get(DIGEST):
                return False
            # Results of older versions have no seal.
            return FILE_DIGEST not in values or _check_seal(file or path, values[FILE_DIGEST])
        except (DataError, OSError, EOFError, ValueError, zlib.error):
            return False

    return StoredResult(values[KEY], intact)


def _check_seal(path: Path, digest: object) -> bool:
    if not isinstance(digest, str) or len(digest) != len(UNSEALED):
        return False
    with open_regular(path) as file:
        if path.name.endswith(".gz"):
            with gzip.open(file) as unpacked:
                return _is_sealed(unpacked, digest)
        return _is_sealed(file, digest)


def stored_pixels(path: Path, name: str, contents: FileInfo) -> Iterator[NDArray[Any]]:
    """One array of a file, some slices at a time; nothing if the file does not hold it.

    Args:
        path: The file.
        name: The name of the array.
        contents: The table of contents of the file.
    """
    if name not in contents.arrays:
        return
    info = contents.arrays[name]
    step = max(1, BLOCK_BYTES // max(1, info.dtype.itemsize * int(np.prod(info.shape[1:]))))
    for start in range(0, info.shape[0], step):
        yield read(path, name, start, min(start + step, info.shape[0]))


def foreign(path: Path) -> DataError:
    """The error for a file that carries no stamp."""
    return DataError(f"{path}: it was not written by somamba, or is damaged: it does not say how it came about.")
