"""The journal of a training: one JSON object a line, one line for every event. No torch.

`somamba.training.run.journal` writes it; curves and pages read it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from somamba.errors import InputError
from somamba.regular_files import open_regular, read_regular

JOURNAL = "journal.jsonl"
"""Name of the file in the folder of a run."""
PICTURE = "validation.png"
"""Name of the picture in the same folder: one slice of the last validation."""
LARGEST_FILE = 1_000_000_000
"""Bytes of a journal that is read; a training of a million steps writes less than a third of it."""
LONGEST_LINE = 1 << 16
MOST_EVENTS = 2_000_000

Event = Mapping[str, Any]


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Every event of a run; lines that a kill or a power cut spoiled are left out, and a missing file has none.

    Raises:
        InputError: the file cannot be read, or is far too large for a journal.
    """
    if not path.exists():
        return []
    try:
        content = read_regular(path, most=LARGEST_FILE)
    except OSError as error:
        raise InputError(f"{path} cannot be read as the journal of a training: {error.strerror}.") from None
    if (count := content.count(b"\n")) > MOST_EVENTS:
        raise InputError(f"{path} has {count:,} lines, which is no journal of a training; at most {MOST_EVENTS:,}.")
    return [event for event in map(_event, content.split(b"\n")) if event is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    step = event.get("step")
    return event if type(step) is int and 0 <= step < 2**63 else None


class JournalTail:
    """Reads a journal that is being written, each event once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None
        self._done = 0

    def new(self) -> tuple[bool, list[dict[str, Any]]]:
        """The events since the last call; the first part says that the journal begins anew, as after a resume.

        Raises:
            InputError: the file cannot be read.
        """
        try:
            with open_regular(self._path) as stream:
                facts = os.fstat(stream.fileno())
                anew = self._file != (facts.st_dev, facts.st_ino) or facts.st_size < self._done
                if anew:
                    self._file, self._done = (facts.st_dev, facts.st_ino), 0
                stream.seek(self._done)
                # The last line may be half written; it is read when it is whole.
                whole = stream.read(facts.st_size - self._done).rpartition(b"\n")[0]
        except FileNotFoundError:
            return False, []
        except OSError as error:
            raise InputError(f"{self._path} cannot be read as the journal of a training: {error.strerror}.") from None
        self._done += len(whole) + 1 if whole else 0
        return anew, [event for event in map(_event, whole.split(b"\n")) if event is not None]
