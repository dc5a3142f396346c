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
