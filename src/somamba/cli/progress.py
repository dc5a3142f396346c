"""How far a long command is: a bar on a terminal, a line now and then elsewhere. Both on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

EVERY = 30.0
"""Seconds between two lines where there is no terminal."""

Tell = Callable[[int, int], None]
"""Hears how many are done, and how many there are."""


@contextmanager
def told_progress(what: str, *, leads: bool = True, every: float = EVERY) -> Iterator[Tell]:
    """Tell how far it is.

    Args:
        what: Is counted, in the plural: ``slices``.
        leads: Whether this process speaks; of several one does.
        every: Seconds between two lines where there is no terminal.
    """
    console = Console(stderr=True)
    if not leads:
        yield lambda _done, _count: None
    elif console.is_terminal:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, count: progress.update(task, completed=done, total=count)
    else:
        yield _lines(what, lambda line: console.print(line, soft_wrap=True, highlight=False), every)


def _lines(what: str, write: Callable[[str], object], every: float) -> Tell:
    """What is over before the first line is due is told nothing of."""
    started = written = time.monotonic()

    def tell(done: int, count: int) -> None:
        nonlocal written
        now = time.monotonic()
        if now - written >= every and done < count:
            written = now
            left = (now - started) * (count - done) / done if done else float("nan")
            write(f"{done} of {count} {what}" + (f", {left / 60:.0f} minutes left" if left >= 90 else ""))

    return tell
