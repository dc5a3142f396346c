"""One way to look things up by name: a read-only mapping that fails helpfully."""

import difflib
from collections.abc import Iterator, Mapping
from typing import TypeVar

from somamba.errors import UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Names to entries of one kind, written out in full where it is created."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> T:
        if name in self._entries:
            return self._entries[name]
        close = difflib.get_close_matches(name, self._entries, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownNameError(f"No {self.kind} is named {name!r}.{hint} Known: {', '.join(self._entries)}.")

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
