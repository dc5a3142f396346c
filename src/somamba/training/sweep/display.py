"""A sweep for people: a table that stays up to date on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table

from somamba.results.journal import Event
from somamba.training.display import RunProgress, duration, plain_display
from somamba.training.run.journal import Listener
from somamba.training.sweep.run_status import Run, RunStatus, State, run_status
from somamba.training.sweep.sweep import Watcher

OF_A_RUN = ("start", "step", "validation", "stop")
COLOURS = {"training": "bold", "measuring": "bold", "finished": "green", "failed": "red", "stopped": "yellow"}


@dataclass
class Line:
    """One run: its status when the sweep began, and the events since."""

    run: Run
    before: RunStatus
    state: State
    pace: RunProgress = field(default_factory=RunProgress)
    measured: str = ""

    def add(self, event: Event) -> None:
        """Take note of an event."""
        if event["event"] in OF_A_RUN:
            self.pace.add(event)
        elif event["event"] == "state":
            self.state, self.measured = event["state"], ""
        elif event["event"] == "measured":
            self.measured = f" {event['done']}/{event['count']}"

    def seconds_left(self) -> float | None:
        """Return the seconds of training that are left; None while they are not known."""
        if self.state in ("finished", "measuring", "failed"):
            return 0.0
        left = self.pace.seconds_left()
        if left is None and self.run.budget is not None:
            return max(0.0, self.run.budget - self.before.seconds)
        return left

    def cells(self) -> list[str]:
        """Name, state, step, loss, best PSNR and time left."""
        best = self.before.best if self.pace.best is None else self.pace.best
        left = self.seconds_left()
        return [
            escape(self.run.name),
            f"[{COLOURS.get(self.state, 'dim')}]{self.state}{self.measured}[/]",
            f"{self.pace.step or self.before.steps:,}",
            "-" if self.pace.loss is None else f"{self.pace.loss:.5f}",
            "-" if best is None else f"{best:.2f} dB",
            "-" if left is None else duration(left) if left else "",
        ]


class SweepTable:
    """The status of every run of a sweep."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.lines: dict[str, Line] = {}
        for run in runs:
            before = run_status(run)
            self.lines[run.name] = Line(run, before, before.state)

    def add(self, name: str, event: Event) -> None:
        """Take note of an event of a run."""
        self.lines[name].add(event)

    def seconds_left(self) -> float | None:
        """Seconds of training left, over all runs; None if one of them is not known."""
        left = [line.seconds_left() for line in self.lines.values()]
        known = [seconds for seconds in left if seconds is not None]
        return sum(known) if len(known) == len(left) else None

    def table(self) -> Table:
        """All runs, and how much training is left."""
        left = self.seconds_left()
        caption = None if left is None else f"{duration(left)} of training left"
        table = Table(Column("run", no_wrap=True), "state", caption=caption)
        for head in ("step", "loss", "best PSNR", "time left"):
            table.add_column(head, justify="right", no_wrap=True)
        for line in self.lines.values():
            table.add_row(*line.cells())
        return table


@contextmanager
def live_sweep_display(runs: Sequence[Run], console: Console) -> Iterator[Watcher]:
    """A watcher that keeps a table up to date."""
    overview = SweepTable(runs)
    with Live(overview.table(), console=console, refresh_per_second=2) as live:

        def watch(name: str, event: Event) -> None:
            overview.add(name, event)
            live.update(overview.table())

        yield watch
        live.update(overview.table())


def plain_sweep_display(runs: Sequence[Run], write: Callable[[str], object], *, every: float = 30.0) -> Watcher:
    """A watcher that writes a line whenever a run changes its state, and its progress now and then.

    Args:
        runs: The runs.
        write: Writes one line.
        every: Seconds between two lines of progress.
    """
    listeners: dict[str, Listener] = {}
    written = time.monotonic()
    places = {run.name: number for number, run in enumerate(runs, start=1)}

    def watch(name: str, event: Event) -> None:
        nonlocal written
        if event["event"] == "state":
            written = time.monotonic()
            note = f": {event['note']}" if event["note"] else ""
            write(f"{name}  {event['state']} (run {places[name]} of {len(places)}){note}")
        elif event["event"] == "measured":
            if time.monotonic() - written > every:
                written = time.monotonic()
                write(f"{name}  measured {event['done']} of {event['count']} batches")
        elif event["event"] in OF_A_RUN:
            if name not in listeners:
                listeners[name] = plain_display(lambda text: write(f"{name}  {text}"), every=every)
            listeners[name](event)

    return watch
