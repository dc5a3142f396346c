"""Learning curves in a page, from the journals of runs."""

import math
from collections.abc import Sequence

from somamba.report.colours import Palette, again
from somamba.report.learning import (
    SMOOTHING,
    Point,
    common_axis,
    losses,
    running_mean,
    validations,
)
from somamba.report.names import run_name
from somamba.report.page.charts import Series, line_chart
from somamba.report.page.markup import Html, element
from somamba.report.sources import TrainedRun

MOST_POINTS = 300
"""Largest number of points of a line; more cannot be seen."""


def curves_section(runs: Sequence[TrainedRun], palette: Palette) -> Html | None:
    """Loss and validation PSNR along the training of all runs; None if no step was taken."""
    x = common_axis(run.events for run in runs)
    colours = [palette.colour(run.model, run.seed) for run in runs]
    looks = list(zip(runs, colours, again(colours), strict=True))
    means = [_series(*look, thinned(running_mean(losses(look[0].events, x)))) for look in looks]
    scores = [_series(*look, validations(look[0].events, x), dots=True) for look in looks]
    charts = []
    # The axis of the loss is logarithmic.
    if means := [one for one in means if any(value > 0 for _, value in one.points)]:
        y = f"training loss, mean of {SMOOTHING} steps"
        charts.append(line_chart(means, x=x, y=y, about=_about(means, "training loss", x), log=True, start=0.0))
    if scores := [one for one in scores if one.points]:
        about = _about(scores, "PSNR on the validation cases", x)
        charts.append(line_chart(scores, x=x, y="PSNR on the validation cases [dB]", about=about, start=0.0))
    return element("div", *charts, class_="charts") if charts else None


def thinned(points: Sequence[Point]) -> list[Point]:
    """The points of a curve without those that cannot be seen beside their neighbours."""
    stride = max(1, math.ceil(len(points) / MOST_POINTS))
    # Counted from the end: the last mean is the one that is looked for.
    return list(points[::-1][::stride][::-1])


def _series(run: TrainedRun, colour: int, dashed: bool, points: Sequence[Point], *, dots: bool = False) -> Series:
    return Series(name=run_name(run.name), points=points, colour=colour, dashed=dashed, dots=dots)


def _about(series: Sequence[Series], what: str, x: str) -> str:
    ends = [f"{one.name} ends at {one.points[-1][1]:.4g} ({x} {one.points[-1][0]:.4g})" for one in series]
    return f"{what} over {x}: {'; '.join(ends)}."
