"""Reads files we did not write. A separate process opens them (`somamba.files.sandbox`).

A damaged or hostile file can end only that process; here it is a `DataError` with the name of the file. A member that
must not be read cannot be overlooked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.sandbox import sandbox

T = TypeVar("T")

BLOCK_BYTES = 1 << 26
"""How much of a volume is read at once: enough to decompress a NIfTI file in one go, too little to fill a memory."""
KINDS = {"f": "float", "c": "complex", "i": "integer", "u": "unsigned integer"}


class ArrayInfo(NamedTuple):
    """What a file declares about one of its arrays."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"


class Members(Mapping[str, T]):
    """Members of a file by name. Asking for one that was refused, even whether it is there, is a `DataError`.

    Otherwise a sampling mask behind a link, say, would count as absent, and the scan as fully sampled.
    """

    def __init__(self, path: Path, members: Mapping[str, T], refused: Mapping[str, str]) -> None:
        self._path, self._members, self._refused = path, members, refused

    def __getitem__(self, name: str) -> T:
        if name in self._refused:
            raise DataError(
                f"{self._path}: its {name!r} must not be read: {self._refused[name]}. A file is not used without it; "
                "store it as a plain array, or remove it."
            )
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@dataclass(frozen=True)
class FileInfo:
    """The table of contents of one file."""

    path: Path
    arrays: Mapping[str, ArrayInfo]
    texts: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Members that must not be read, and why; `arrays` and `texts` refuse to be asked for them."""
    voxel: tuple[float, ...] | None = None
    """Voxel size in mm, in the order of the axes."""
    affine: tuple[tuple[float, ...], ...] | None = None
    """The map from the indices of a NIfTI image, ``(x, y, z)``, to mm: right, anterior, superior."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", Members(self.path, self.arrays, self.refused))
        object.__setattr__(self, "texts", Members(self.path, self.texts, self.refused))

    def array(self, name: str, *, axes: int, kinds: str) -> ArrayInfo:
        """What is declared for one array, or a `DataError` if it is missing, refused or of another kind.

        Args:
            name: The name of the array.
            axes: How many axes it must have.
            kinds: Which kinds of numpy types it may have, such as ``"fc"``.
        """
        if name not in self.arrays:
            raise DataError(f"{self.path}: no array {name!r}; found {', '.join(self.arrays) or 'none'}.")
        info = self.arrays[name]
        if len(info.shape) != axes or info.dtype.kind not in kinds:
            raise DataError(
                f"{self.path}: {name!r} should have {axes} axes and type {' or '.join(KINDS[kind] for kind in kinds)}; "
                f"it has shape {info.shape} and type {info.dtype}."
            )
        return info

    def check_nothing_refused(self, purpose: str) -> None:
        """Refuse the file if it has a member that must not be read: it could be the wanted one.

        Args:
            purpose: What is looked for among the members, for the message.
        """
        for name in self.refused:
            raise DataError(
                f"{self.path}: {purpose} cannot be told by its name, and {name!r} must not be read: "
                f"{self.refused[name]}."
            )


@dataclass(frozen=True, kw_only=True)
class Volume:
    """A stack of slices that can be read in parts."""

    shape: tuple[int, ...]
    """``(slices, coils, y, x)`` for k-space, ``(slices, y, x)`` for images."""
    read: Callable[[int, int], NDArray[Any]]
    """Slices ``start`` to ``stop`` (exclusive)."""
    itemsize: int = 8
    """Bytes of one value, to bound what is read at once."""

    def __len__(self) -> int:
        return self.shape[0]

    def slice(self, index: int) -> NDArray[Any]:
        """Read the slice of this number, counted from 0."""
        if not 0 <= index < len(self):
            raise DataError(f"There is no slice {index}; the volume has slices 0 to {len(self) - 1}.")
        return self.read(index, index + 1)[0]

    def blocks(self, wanted: range) -> Iterator[tuple[int, NDArray[Any]]]:
        """Read the wanted slices a block at a time, as pairs of slice number and slice."""
        per_slice = self.itemsize * int(np.prod(self.shape[1:]))
        step = max(1, BLOCK_BYTES // max(1, per_slice))
        for start in range(wanted.start, wanted.stop, step):
            stop = min(start + step, wanted.stop)
            yield from enumerate(self.read(start, stop), start)


def inspect(path: Path) -> FileInfo:
    """Read the table of contents of an HDF5, NIfTI, NumPy or BART file."""
    header, _ = sandbox().ask({"do": "inspect", "path": str(path.absolute())})
    arrays = {
        name: ArrayInfo(tuple(array["shape"]), np.dtype(array["dtype"])) for name, array in header["arrays"].items()
    }
    voxel = tuple(header["voxel"]) if "voxel" in header else None
    affine = tuple(tuple(row) for row in header["affine"]) if "affine" in header else None
    return FileInfo(path, arrays, header.get("texts", {}), header.get("refused", {}), voxel, affine)


def read(path: Path, name: str, start: int, stop: int) -> NDArray[Any]:
    """Read rows of one array; they are finite.

    Args:
        path: The file.
        name: The array in it, as `inspect` names it.
        start: The first row.
        stop: The row after the last one.
    """
    request = {"do": "read", "path": str(path.absolute()), "name": name, "start": int(start), "stop": int(stop)}
    _, array = sandbox().ask(request)
    if array is None:
        raise DataError(f"{path}: the reading process sent no values for {name!r}.")
    if not np.isfinite(array).all():
        raise DataError(f"{path}: {name!r} holds NaN or infinity between rows {start} and {stop}.")
    return array
