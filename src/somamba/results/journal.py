"""The journal of a training: one JSON object a line, one line for every event. No torch.

`somamba.training.journal` writes it; curves and pages read it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from somamba.errors import InputError

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
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path} is no journal of a training: it is no regular file, or larger than 1 GB.")
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    return [event for event in map(_event, lines) if event is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("step"), int) else None
