"""What a written file says about itself: its provenance, and the SHA-256 of its pixels, as JSON under our own key.

The digest tells a damaged result from a good one. A file without a stamp is not ours, and is never replaced.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.reading import FileInfo, read
from somamba.inference.reconstruction import Reconstruction

BLOCK_BYTES = 1 << 26
KEY = "somamba"
DIGEST = "pixels_sha256"
RESEARCH = "Research only, not for diagnosis."


@dataclass(frozen=True)
class StoredResult:
    """A result that was found on disk and was written by somamba."""

    provenance: Mapping[str, Any]
    intact: Callable[[], bool]
    """Reads the pixels and tells whether they are those that were written."""


def stamp(reconstruction: Reconstruction, pixels: Iterable[NDArray[Any]]) -> str:
    """The stamp of a file as one line of ASCII.

    Args:
        reconstruction: What is written.
        pixels: The arrays as the file holds them, in the order in which a reader checks them.
    """
    return json.dumps({KEY: reconstruction.provenance, DIGEST: pixels_digest(pixels)}, allow_nan=False)


def pixels_digest(arrays: Iterable[NDArray[Any]]) -> str:
    """The SHA-256 over the bytes of arrays, little-endian and in C order."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def stored_result(text: str, path: Path, pixels: Callable[[], Iterable[NDArray[Any]]]) -> StoredResult:
    """What a stamp says.

    Args:
        text: The stamp.
        path: The file it was found in.
        pixels: Reads the arrays that the digest was made of, in the same order; called only to check them.

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
            return bool(pixels_digest(pixels()) == values.get(DIGEST))
        except (DataError, OSError, ValueError):
            return False

    return StoredResult(values[KEY], intact)


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
