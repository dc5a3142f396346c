"""Numbers of a journal along the training: over steps, or over minutes where a budget of minutes ended the run."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]
Point = tuple[float, float]

SMOOTHING = 50
"""Steps over which the loss is averaged; single steps see other slices and scatter."""
STEPS, MINUTES = "step", "minutes of training"


def common_axis(journals: Iterable[Sequence[Event]]) -> str:
    """Minutes where all runs had a budget of them, so that curves end where the budget did; else steps."""
    starts = [[event for event in events if event.get("event") == "start"] for events in journals]
    timed = starts and all(found and all(start.get("timed") is True for start in found) for found in starts)
    return MINUTES if timed else STEPS


def losses(events: Sequence[Event], axis: str = STEPS) -> list[Point]:
    """The loss of every step that was taken; one that was skipped has none."""
    return _points(events, "step", "loss", axis)


def validations(events: Sequence[Event], axis: str = STEPS) -> list[Point]:
    """PSNR of every validation."""
    return _points(events, "validation", "psnr", axis)


def running_mean(points: Sequence[Point]) -> list[Point]:
    """Every value replaced by the mean of the last `SMOOTHING`."""
    total, means = 0.0, []
    for place, (x, value) in enumerate(points):
        total += value - (points[place - SMOOTHING][1] if place >= SMOOTHING else 0.0)
        means.append((x, total / min(place + 1, SMOOTHING)))
    return means


def _points(events: Sequence[Event], kind: str, name: str, axis: str) -> list[Point]:
    # A journal of another version may lack a name.
    found = [event for event in events if event.get("event") == kind and is_number(event.get("step"))]
    found = [event for event in found if is_number(event.get(name))]
    if axis == STEPS:
        return [(float(event["step"]), float(event[name])) for event in found]
    clock = _clock(events)
    return [(clock[event["step"]], float(event[name])) for event in found if event["step"] in clock]


def _clock(events: Sequence[Event]) -> dict[int, float]:
    """Minutes that all steps up to this one took."""
    total, clock = 0.0, {}
    for event in events:
        if event.get("event") == "step" and is_number(event.get("seconds")):
            total += event["seconds"] / 60
            clock[event["step"]] = total
    return clock


def is_number(value: Any) -> bool:
    """A finite one."""
    return isinstance(value, int | float) and math.isfinite(value)
