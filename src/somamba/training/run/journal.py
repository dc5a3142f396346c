"""The journal of a run: one JSON object a line, appended as it happens, cut back to the checkpoint on resume."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from somamba.durable import replace_file
from somamba.errors import StorageError
from somamba.results.journal import Event, read_journal

Listener = Callable[[Event], None]


class Journal:
    """Writes events to a file and calls a listener with them; a journal without a path only calls the listener."""

    def __init__(
        self,
        path: Path | None,
        tell: Listener = lambda _event: None,
        *,
        keep: Callable[[Event], bool] = lambda _event: False,
    ) -> None:
        """Open the journal of a run, and write events to its end.

        Args:
            path: Where the lines go, or None.
            tell: Called with every event, for progress on a screen.
            keep: Which events of an earlier session stay; the others will happen again. By default none.
        """
        self._tell = tell
        self._file: IO[bytes] | None = None
        if path is not None:
            kept = [_line(event) for event in read_journal(path) if keep(event)]
            replace_file(path, b"".join(kept))
            # Unbuffered: after a full disk nothing is left that closing the file would try to write again.
            self._file = path.open("ab", buffering=0)

    def write(self, event: str, *, step: int, **facts: Any) -> None:
        """Write one event and flush it, so that a reader of the file sees it at once."""
        entry = {"event": event, "step": step, "time": round(time.time(), 3), **facts}
        if self._file is not None:
            try:
                self._file.write(_line(entry))
            except OSError as error:
                raise StorageError(f"{self._file.name} could not be written: {error.strerror}.") from error
        self._tell(entry)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close()


def _line(event: Event) -> bytes:
    return json.dumps(event).encode() + b"\n"
