"""One way to look things up by name: a read-only mapping that fails helpfully."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from somamba.errors import UnknownNameError

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence, after a space, that names the known word closest to ``name``; empty if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


class Registry(Mapping[str, T]):
    """Names to entries of one kind, written out in full where it is created."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> T:
        if name in self._entries:
            return self._entries[name]
        hint = did_you_mean(name, self._entries)
        raise UnknownNameError(f"No {self.kind} is named {name!r}.{hint} Known: {', '.join(self._entries)}.")

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
