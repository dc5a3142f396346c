"""A signal for a command that runs in the process of the test."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from somamba.results.journal import read_journal


@contextmanager
def terminated_once_it_runs(journal: Path) -> Iterator[None]:
    """Send SIGTERM to this process as soon as a training has taken a step."""
    done = threading.Event()

    def terminate() -> None:
        while not done.wait(0.01):
            if any(event["event"] == "step" for event in read_journal(journal)):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    threading.Thread(target=terminate, daemon=True).start()
    try:
        yield
    finally:
        done.set()
