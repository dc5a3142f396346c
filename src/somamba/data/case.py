"""What every reader returns and everything downstream consumes.

An `Entry` is a case found by its name, nothing opened yet; a `Case` is an entry whose headers were read and checked.
Its slices are read when they are asked for.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from somamba.errors import DataError
from somamba.files.reading import Volume

Role = Literal["train", "val", "test"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One examination on disk, by name only."""

    id: str
    """Stable name, unique within a dataset; tables average over cases."""
    subject: str
    """The person who was scanned; cases of one subject always share a split."""
    role: Role
    """The official part of the dataset it belongs to; ours may carve validation from ``train``."""
    files: tuple[Path, ...]
    """Everything that has to be read."""
    root: Path
    """The folder of the dataset."""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A file or case that is deliberately not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What a dataset folder holds."""

    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know about how the folder was understood."""

    def __post_init__(self) -> None:
        seen: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.id in seen:
                raise DataError(
                    f"Two cases are named {entry.id!r}: {seen[entry.id].files[0]} and {entry.files[0]}. "
                    "Results are counted by case, so keep only one of them."
                )
            seen[entry.id] = entry


@dataclass(frozen=True, kw_only=True)
class Case:
    """One examination: fully sampled k-space, magnitude images, or both, and where they came from."""

    id: str
    source: str
    """The file it was read from, for error messages and provenance."""
    kspace: Volume | None = None
    """``(slices, coils, y, x)`` complex64, centred: ``ifft2c`` gives the coil images."""
    image: Volume | None = None
    """``(slices, y, x)`` float32 magnitudes, as the dataset's authors give them."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the file was understood."""

    def __post_init__(self) -> None:
        if self.kspace is None and self.image is None:
            raise DataError(f"Case {self.id!r} ({self.source}) has neither k-space nor images.")
        if self.kspace is not None and len(self.kspace.shape) != 4:
            raise DataError(
                f"Case {self.id!r} ({self.source}): k-space must be (slices, coils, y, x), got {self.kspace.shape}. "
                "Single-coil readers add the coil axis with kspace[:, None]."
            )
        if self.image is not None and len(self.image.shape) != 3:
            raise DataError(f"Case {self.id!r} ({self.source}): images must be (slices, y, x), got {self.image.shape}.")
        if self.kspace is not None and self.image is not None and len(self.kspace) != len(self.image):
            raise DataError(
                f"Case {self.id!r} ({self.source}): {len(self.kspace)} slices of k-space but {len(self.image)} images."
            )
        if len(self) == 0:
            raise DataError(f"Case {self.id!r} ({self.source}) has no slices.")

    def __len__(self) -> int:
        volume = self.kspace if self.kspace is not None else self.image
        return 0 if volume is None else len(volume)
