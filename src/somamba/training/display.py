"""Progress for people: one line that moves on a terminal, one line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from somamba.training.journal import Event, Listener


class Pace:
    """What the events of a run add up to: where it stands, how fast it is, how long it will take."""

    def __init__(self) -> None:
        self.step = self.steps = self.first = 0
        self._start: Event = {}
        self._last: Event = {}
        self._scores: Event = {}
        self._best: float | None = None
        self._step_seconds = 0.0
        self._validation_seconds = 0.0

    def hear(self, event: Event) -> None:
        """Take note of an event of the journal."""
        self.step = event["step"]
        if event["event"] == "start":
            self._start, self.first, self.steps, self._best = event, event["step"], event["steps"], event["best"]
        elif event["event"] == "step":
            self._last = event
            self._step_seconds += event["seconds"]
        elif event["event"] == "validation":
            self._scores, self._validation_seconds = event, event["seconds"]
            self._best = event["psnr"] if event["improved"] else self._best

    def seconds_left(self) -> float | None:
        """Time to the end at the pace of this session; None before the first step."""
        done = self.step - self.first
        if not done:
            return None
        every = self._start["validate_every"]
        validations = -(-self.steps // every) - self.step // every
        return (self.steps - self.step) * self._step_seconds / done + validations * self._validation_seconds

    def line(self) -> str:
        """Epoch, step, loss, PSNR, slices a second and time left."""
        if not self._start:
            return "starting"
        per_epoch = self._start["steps_per_epoch"]
        parts = [f"epoch {self.step / per_epoch:.2f}/{self.steps // per_epoch}", f"step {self.step}/{self.steps}"]
        if self._last.get("loss_mean") is not None:
            parts.append(f"loss {self._last['loss_mean']:.5f}")
        if self._scores:
            parts.append(f"PSNR {self._scores['psnr']:.2f} dB")
        if self._best is not None:
            parts.append(f"best {self._best:.2f}")
        left = self.seconds_left()
        if left is not None and self._step_seconds > 0:
            speed = (self.step - self.first) * self._start["batch_size"] / self._step_seconds
            parts += [f"{speed:.2f} slices/s", f"{duration(left)} left"]
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """A time as people say it: ``2 h 05 min``, ``3 min 20 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def plain_display(write: Callable[[str], object], *, every: float = 30.0) -> Listener:
    """A listener that writes a line at start, first step, every validation and end, and every so many seconds."""
    pace, written = Pace(), -float("inf")

    def hear(event: Event) -> None:
        nonlocal written
        pace.hear(event)
        if event["event"] != "step" or pace.step == pace.first + 1 or time.monotonic() - written > every:
            written = time.monotonic()
            end = f"  {event['reason']}" if event["event"] == "stop" else ""
            write(pace.line() + end)

    return hear


@contextmanager
def live_display(console: Console) -> Iterator[Listener]:
    """A listener that keeps one line up to date, with a bar; validations stay above it."""
    pace = Pace()
    columns = (BarColumn(bar_width=20), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=None)

        def hear(event: Event) -> None:
            pace.hear(event)
            progress.update(task, completed=pace.step, total=pace.steps, description=pace.line())
            if event["event"] == "validation":
                progress.console.print(pace.line())

        yield hear
