"""The last compressed file of the reading process stays open: reading it front to back then unpacks it once."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class Closable(Protocol):
    """What can be kept open."""

    def close(self) -> None:
        """Close the file and free what it holds."""


C = TypeVar("C", bound=Closable)


def identity(path: str) -> tuple[Hashable, ...]:
    """What changes if a file is written again or replaced."""
    facts = Path(path).stat()
    return path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


class KeptOpen:
    """Room for one open file."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._kept: Any = None

    def get(self, key: Hashable, opening: Callable[[], C]) -> C:
        """The open file of this key; another one that was open is closed."""
        if self._kept is None or key != self._key:
            self.close()
            self._kept, self._key = opening(), key
        kept: C = self._kept
        return kept

    def close(self) -> None:
        """Close the file, if there is one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()


KEPT = KeptOpen()
