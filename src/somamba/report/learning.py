"""Learning curves in a page: what the journals of runs say."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from somamba.report.charts import Series, line_chart
from somamba.report.curves import SMOOTHING
from somamba.report.markup import Html, element
from somamba.report.sources import Event, TrainedRun

MOST_POINTS = 300
"""Of a line; more cannot be seen."""


def learning_section(runs: Sequence[TrainedRun]) -> Html | None:
    """Loss and validation PSNR over the steps of all runs, or nothing where no step was taken."""
    losses = [Series(name=run.name, points=smoothed(run.events), colour=i) for i, run in enumerate(runs)]
    scores = [Series(name=run.name, points=validations(run.events), colour=i, dots=True) for i, run in enumerate(runs)]
    charts = []
    if losses := [one for one in losses if one.points]:
        y = f"training loss, mean of {SMOOTHING} steps"
        charts.append(line_chart(losses, x="step", y=y, about=_about(losses, "training loss"), log=True, start=0.0))
    if scores := [one for one in scores if one.points]:
        about = _about(scores, "PSNR on the validation cases")
        charts.append(line_chart(scores, x="step", y="PSNR on the validation cases [dB]", about=about, start=0.0))
    return element("div", *charts, class_="charts") if charts else None


def smoothed(events: Sequence[Event]) -> list[tuple[float, float]]:
    """The loss as a running mean, thinned to what can be seen."""
    steps = _numbers(events, "step", "loss")
    losses = [loss for _, loss in steps]
    total, means = 0.0, []
    for place, (step, loss) in enumerate(steps):
        total += loss - (losses[place - SMOOTHING] if place >= SMOOTHING else 0.0)
        means.append((step, total / min(place + 1, SMOOTHING)))
    stride = max(1, math.ceil(len(means) / MOST_POINTS))
    # Counted from the end: the last mean is the one that is looked for.
    return means[::-1][::stride][::-1]


def validations(events: Sequence[Event]) -> list[tuple[float, float]]:
    """Step and PSNR of every validation."""
    return _numbers(events, "validation", "psnr")


def span(events: Sequence[Event]) -> str:
    """When a run began and ended, in universal time."""
    times = [event["time"] for event in events if _is_number(event.get("time"))]
    ends = [f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}" for time in (times[0], times[-1])] if times else []
    return f"{ends[0]} to {ends[1]} UTC" if ends else ""


def _numbers(events: Sequence[Event], kind: str, name: str) -> list[tuple[float, float]]:
    # A step that was skipped has no loss; a journal of another version may lack a name.
    return [
        (float(event["step"]), float(event[name]))
        for event in events
        if event.get("event") == kind and _is_number(event.get("step")) and _is_number(event.get(name))
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _about(series: Sequence[Series], what: str) -> str:
    ends = [f"{one.name} ends at {one.points[-1][1]:.4g} (step {one.points[-1][0]:g})" for one in series]
    return f"{what} over the training steps: {'; '.join(ends)}."
