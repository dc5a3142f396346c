"""``somamba curve RUN --live``: a run as it goes on, in the terminal: curves, scores, time left, a validation slice.

All of it is read from the journal and the picture that the training writes, so that looking never disturbs it.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

from somamba.cli.output import clean, make_console
from somamba.report.learning import SMOOTHING, seconds_left, series
from somamba.report.loggers import Loggers
from somamba.results.journal import JOURNAL, PICTURE, Event, JournalTail
from somamba.training.display import duration

BARS, PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
"""Heights of a curve in a line of text, for terminals with and without Unicode."""
WIDTH = 40
"""Characters of a curve."""
COLOURS = ("truecolor", "256")
"""Terminals with so many colours show pictures."""


def watch(run: Path, loggers: Loggers, *, every: float, wait: Callable[[float], None] = time.sleep) -> None:
    """Show a run until it stops; on a terminal the view stays in place, elsewhere it is printed again and again.

    Args:
        run: Folder of the run.
        loggers: Loggers that are called with every event.
        every: Seconds between two looks.
        wait: Function that waits for so many seconds.
    """
    console, tail, events = make_console(), JournalTail(run / JOURNAL), list[Event]()
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            anew, found = tail.new()
            events = [*([] if anew else events), *found]
            for event in found:
                loggers.add(event)
            if found or not events:
                live.update(view(run, events, console), refresh=True)
            if events and events[-1]["event"] == "stop":
                return
            wait(every)


def view(run: Path, events: Sequence[Event], console: Console) -> RenderableType:
    """What is shown of a run.

    Args:
        run: Its folder.
        events: Its journal so far.
        console: Where it is shown; it decides about colours and signs.
    """
    bars = BARS if console.encoding.startswith("utf") else PLAIN_BARS
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    scores, norms = series(events, "validation", "psnr"), series(events, "step", "norm")
    for name, values, shown in (
        ("loss", series(events, "step", "loss"), f"mean of {SMOOTHING} steps {{:.5f}}"),
        ("validation", scores, f"PSNR {{:.2f}} dB{f', best {max(scores):.2f}' if scores else ''}"),
        ("rate", series(events, "step", "rate"), "{:.2e}"),
        ("gradient norm", norms, f"{{:.3g}}{f', largest {max(norms):.3g}' if norms else ''}"),
    ):
        last = _recent(values) if name == "loss" else values[-1] if values else None
        table.add_row(name, curve(values, bars), "-" if last is None else shown.format(last))
    parts: list[RenderableType] = [Text(clean(f"{run}: {state(events)}"), style="bold"), table]
    if (run / PICTURE).is_file():
        if console.is_terminal and console.color_system in COLOURS:
            parts.append(half_blocks(run / PICTURE, console.width))
        parts.append(Text(clean(f"{run / PICTURE}: target, zero-filled, reconstruction, error x 5"), style="dim"))
    return Group(*parts)


def state(events: Sequence[Event]) -> str:
    """How far a run is, in words."""
    if not events:
        return "no event yet"
    start = next((event for event in reversed(events) if event["event"] == "start"), {})
    step = events[-1]["step"]
    of = f" of {start['length']}" if start.get("length") and not start.get("timed") else ""
    words = f"step {step}{of}"
    if start.get("steps_per_epoch"):
        words += f", epoch {step / start['steps_per_epoch']:.2f}"
    if events[-1]["event"] == "stop":
        return f"{words}, stopped: {events[-1].get('reason', 'unknown')}"
    left = seconds_left(events)
    return words if left is None else f"{words}, {duration(left)} left"


def curve(values: Sequence[float], bars: str) -> str:
    """Values as a line of bars, each the mean of its share, from the lowest to the highest."""
    if not values:
        return ""
    means = [float(np.mean(part)) for part in np.array_split(np.asarray(values), min(WIDTH, len(values)))]
    low, high = min(means), max(means)
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0
    return "".join(bars[round((mean - low) * scale)] for mean in means)


def half_blocks(path: Path, width: int) -> Segments:
    """A grey picture as text: every sign shows two pixels, one above the other.

    Args:
        path: The picture.
        width: Columns of the terminal.
    """
    with Image.open(path) as opened:
        grey = opened.convert("L")
        columns = min(width, 160)
        rows = max(2, round(grey.height * columns / grey.width / 2) * 2)
        pixels = np.asarray(grey.resize((columns, rows), Image.Resampling.LANCZOS))
    segments = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            segments.append(Segment("▀", Style.parse(f"{_grey(above)} on {_grey(below)}")))
        segments.append(Segment.line())
    return Segments(segments)


def _grey(value: int) -> str:
    return f"#{value:02x}{value:02x}{value:02x}"


def _recent(values: Sequence[float]) -> float | None:
    part = values[-SMOOTHING:]
    return sum(part) / len(part) if part else None
