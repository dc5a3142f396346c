"""The journal of a training: one JSON object a line, one line for every event. No torch.

`somamba.training.journal` writes it; curves and pages read it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from somamba.errors import InputError
from somamba.regular_files import read_regular

JOURNAL = "journal.jsonl"
"""Name of the file in the folder of a run."""
LARGEST_FILE = 1_000_000_000
"""Bytes of a journal that is read; a training of a million steps writes less than a third of it."""

Event = Mapping[str, Any]


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Every event of a run; lines that a kill or a power cut spoiled are left out, and a missing file has none.

    Raises:
        InputError: the file cannot be read, or is far too large for a journal.
    """
    if not path.exists():
        return []
    try:
        lines = read_regular(path, most=LARGEST_FILE).split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read as the journal of a training: {error.strerror}.") from None
    return [event for event in map(_event, lines) if event is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(event, dict) and isinstance(event.get("step"), int) and isinstance(event.get("event"), str)
    return event if known else None
