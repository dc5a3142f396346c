"""Progress of a long command on standard error: a bar on a terminal, and elsewhere a line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress

from somamba.cli.output import make_console

EVERY = 30.0
"""Seconds between two lines if standard error is not a terminal."""

OnProgress = Callable[[int, int], None]
"""A function that is called with the number of things done and the number of all."""


@contextmanager
def told_progress(what: str, *, leads: bool = True, every: float = EVERY) -> Iterator[OnProgress]:
    """Show progress while the block runs; the block calls what it is given.

    Args:
        what: Name of the things that are counted, in the plural: ``slices``.
        leads: Whether this process shows progress; of several processes only one does.
        every: Seconds between two lines if standard error is not a terminal.
    """
    console = make_console(stderr=True)
    if not leads:
        yield lambda _done, _count: None
    elif console.is_terminal:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, count: progress.update(task, completed=done, total=count)
    else:
        yield _lines(what, lambda line: console.print(line, soft_wrap=True, highlight=False), every)


def _lines(what: str, write: Callable[[str], object], every: float) -> OnProgress:
    """A function that writes a line now and then; it writes nothing if the work ends within the first interval."""
    started = written = time.monotonic()

    def tell(done: int, count: int) -> None:
        nonlocal written
        now = time.monotonic()
        if now - written >= every and done < count:
            written = now
            left = (now - started) * (count - done) / done if done else float("nan")
            write(f"{done} of {count} {what}" + (f", {left / 60:.0f} minutes left" if left >= 90 else ""))

    return tell
