"""What a file holds, as its headers declare it. A member that must not be read cannot be overlooked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from somamba.errors import DataError

T = TypeVar("T")

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
    """From the indices of a NIfTI image, ``(x, y, z)``, to mm: right, anterior, superior."""

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
