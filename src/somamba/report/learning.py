"""Learning curves as points: over steps, or over minutes if a budget of minutes ended the runs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from somamba.results.journal import Event
from somamba.results.record import LARGEST_NUMBER

Point = tuple[float, float]

SMOOTHING = 50
"""Number of steps over which the loss is averaged; single steps see other slices and scatter."""
STEPS, MINUTES = "step", "minutes of training"


def common_axis(journals: Iterable[Sequence[Event]]) -> str:
    """Minutes if all runs had a budget of them, so that curves end where the budget did; else steps."""
    starts = [[event for event in events if event.get("event") == "start"] for events in journals]
    timed = starts and all(found and all(start.get("timed") is True for start in found) for found in starts)
    return MINUTES if timed else STEPS


def series(events: Sequence[Event], kind: str, name: str) -> list[float]:
    """The values of one fact in the order of its events.

    Args:
        events: The journal.
        kind: Which events: ``step`` or ``validation``.
        name: The fact, such as ``rate``.
    """
    return [value for _, value in points(events, kind, name)]


def seconds_left(events: Sequence[Event]) -> float | None:
    """Time to the end of a run at the pace of its last steps; None if the journal does not tell.

    A run under a budget of minutes has what is left of the budget. Validations that are to come count as the last one.
    """
    start = next((event for event in reversed(events) if event.get("event") == "start"), {})
    paces, checks = series(events, "step", "seconds")[-SMOOTHING:], series(events, "validation", "seconds")
    if not paces or not all(is_number(start.get(name)) and start[name] for name in ("length", "validate_every")):
        return None
    length, every = float(start["length"]), float(start["validate_every"])
    done = _clock(events).get(events[-1]["step"], 0.0) * 60 if start.get("timed") else float(events[-1]["step"])
    coming = -(-length // every) - done // every
    each = 1.0 if start.get("timed") else sum(paces) / len(paces)
    return max(0.0, (length - done) * each + coming * (checks[-1] if checks else 0.0))


def running_mean(points: Sequence[Point]) -> list[Point]:
    """Every value replaced by the mean of the last `SMOOTHING` values."""
    total, means = 0.0, []
    for place, (x, value) in enumerate(points):
        total += value - (points[place - SMOOTHING][1] if place >= SMOOTHING else 0.0)
        means.append((x, total / min(place + 1, SMOOTHING)))
    return means


def points(events: Sequence[Event], kind: str, name: str, axis: str = STEPS) -> list[Point]:
    """The values of one fact along the training; an event that lacks it, as a skipped step lacks a loss, has no point.

    Args:
        events: The journal of a run.
        kind: Kind of the events, ``step`` or ``validation``.
        name: The fact, such as ``loss`` or ``psnr``.
        axis: What is counted along the training: `STEPS` or `MINUTES`.
    """
    # A journal of another version may lack a name.
    found = [event for event in events if event.get("event") == kind and is_number(event.get("step"))]
    found = [event for event in found if is_number(event.get(name))]
    if axis == STEPS:
        return [(float(event["step"]), float(event[name])) for event in found]
    clock = _clock(events)
    return [(clock[event["step"]], float(event[name])) for event in found if event["step"] in clock]


def _clock(events: Sequence[Event]) -> dict[int, float]:
    """Minutes that all steps up to this one took, by step."""
    total, clock = 0.0, {}
    for event in events:
        if event.get("event") == "step" and is_number(event.get("seconds")):
            total += event["seconds"] / 60
            clock[event["step"]] = total
    return clock


def span(events: Sequence[Event]) -> str:
    """The time from the first event of a run to the last, in universal time; empty if it is not known."""
    times = [event["time"] for event in events if is_number(event.get("time"))]
    try:
        ends = [f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}" for time in (times[0], times[-1])]
    except (IndexError, OverflowError, OSError, ValueError):
        return ""
    return f"{ends[0]} to {ends[1]} UTC"


def is_number(value: Any) -> bool:
    """Whether a value is a number that a chart can place: zero, or neither absurdly small nor absurdly large."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and (value == 0 or 1 / LARGEST_NUMBER <= abs(value) <= LARGEST_NUMBER)
