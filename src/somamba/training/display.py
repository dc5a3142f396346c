"""Progress for people: one line that moves on a terminal, one line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from somamba.results.journal import Event
from somamba.training.run.journal import Listener


class RunProgress:
    """What the events of a run add up to: its step, its speed, and how long it will take."""

    def __init__(self) -> None:
        self.step = self.first = 0
        self.best: float | None = None
        self._start: Event = {}
        self._prepared: Event = {}
        self._last: Event = {}
        self._scores: Event = {}
        self._step_seconds = 0.0
        self._validation_seconds = 0.0

    def add(self, event: Event) -> None:
        """Take note of an event."""
        if event["event"] == "prepare":
            self._prepared = event
            return
        self.step = event["step"]
        if event["event"] == "start":
            self._start, self.first, self.best = event, event["step"], event["best"]
        elif event["event"] == "step":
            self._last = event
            self._step_seconds += event["seconds"]
        elif event["event"] == "validation":
            self._scores, self._validation_seconds = event, event["seconds"]
            self.best = event["psnr"] if event["improved"] else self.best

    @property
    def length(self) -> int | float:
        """The whole training, in steps or seconds of its budget; 0 before it starts."""
        return self._start["length"] if self._start else 0

    @property
    def place(self) -> int | float:
        """How far it is, in the same measure."""
        timed = bool(self._start) and self._start["timed"]
        return min(self.length, self._start["place"] + self._step_seconds) if timed else self.step

    @property
    def loss(self) -> float | None:
        """Mean over the steps of the epoch; None before the first."""
        return self._last.get("loss_mean")

    def seconds_left(self) -> float | None:
        """Time to the end at the pace of this session; None before the first step."""
        done = self.step - self.first
        if not done:
            return None
        every = self._start["validate_every"]
        validations = -(-self.length // every) - self.place // every
        each = 1.0 if self._start["timed"] else self._step_seconds / done
        return (self.length - self.place) * each + validations * self._validation_seconds

    def line(self) -> str:
        """Epoch, step, loss, PSNR, slices a second and time left."""
        if not self._start:
            done = self._prepared
            return f"preparing {done['cases']} cases {done['done']}/{done['count']}" if done else "starting"
        epoch, of_epochs, of_steps = self.step / self._start["steps_per_epoch"], "", ""
        if not self._start["timed"]:
            of_epochs, of_steps = f"/{self.length // self._start['steps_per_epoch']}", f"/{self.length}"
        parts = [f"epoch {epoch:.2f}{of_epochs}", f"step {self.step}{of_steps}"]
        if self.loss is not None:
            parts.append(f"loss {self.loss:.5f}")
        if self._scores:
            parts.append(f"PSNR {self._scores['psnr']:.2f} dB")
        if self.best is not None:
            parts.append(f"best {self.best:.2f}")
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
    pace, written = RunProgress(), time.monotonic()

    def show(event: Event) -> None:
        nonlocal written
        pace.add(event)
        if event["event"] == "prepare":
            # Prepared cases are opened in no time; only those that are prepared now are worth a line.
            if time.monotonic() - written > min(every, 5.0):
                written = time.monotonic()
                write(pace.line())
            return
        if event["event"] != "step" or pace.step == pace.first + 1 or time.monotonic() - written > every:
            written = time.monotonic()
            end = f"  {event['reason']}" if event["event"] == "stop" else ""
            write(pace.line() + end)

    return show


@contextmanager
def live_display(console: Console) -> Iterator[Listener]:
    """A listener that keeps one line up to date, with a bar; validations stay above it."""
    pace = RunProgress()
    columns = (BarColumn(bar_width=20), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=None)

        def show(event: Event) -> None:
            pace.add(event)
            total = pace.length or None
            progress.update(task, completed=pace.place, total=total, description=pace.line())
            if event["event"] == "validation":
                progress.console.print(pace.line())

        yield show
