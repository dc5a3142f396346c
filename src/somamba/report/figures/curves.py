"""Learning curves of one or several runs as a picture."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from somamba.errors import InputError
from somamba.report.figures.canvas import new_figure, plain, save_figure
from somamba.report.learning import SMOOTHING, STEPS, Point, common_axis, points, running_mean
from somamba.report.names import method_name
from somamba.results.journal import Event

HEIGHT = 3.8
"""Inches of a picture without its legend."""
LINE = 0.2
"""Inches of a line of the legend."""
COLOURS = 10
"""Number of colours of matplotlib; the next runs have the same with dashes."""


def draw_curves(
    runs: Mapping[str, Sequence[Event]], path: Path, *, baseline: float | None = None, title: str = ""
) -> None:
    """Draw loss and validation PSNR along the training of one or several runs.

    The axis counts steps, or minutes if all runs had a budget of minutes.

    Args:
        runs: The events of each run's journal, by name.
        path: File of the picture; its ending decides the format.
        baseline: PSNR of the zero-filled images on the same cases, drawn as a dotted line.
        title: Title above the picture.

    Raises:
        InputError: a run has no training step yet.
        MissingExtraError: matplotlib is not installed.
    """
    x = common_axis(runs.values())
    taken = {name: points(events, "step", "loss", x) for name, events in runs.items()}
    if idle := [name for name, points in taken.items() if not points]:
        raise InputError(f"The journal of {idle[0]} holds no training step; wait for the first, or name another run.")
    figure = new_figure(10, HEIGHT)
    left, right = figure.subplots(1, 2, sharex=True)
    for place, (name, events) in enumerate(runs.items()):
        look = {"color": f"C{place % COLOURS}", "linestyle": "-" if place < COLOURS else "--"}
        if len(runs) == 1:  # the steps of several would hide their means
            left.plot(*zip(*taken[name], strict=True), alpha=0.2, linewidth=0.5, **look)
        found = points(events, "validation", "psnr", x)
        left.plot(*zip(*running_mean(taken[name]), strict=True), label=_label(name, found, x), **look)
        if found:
            right.plot(*zip(*found, strict=True), marker="o", **look)
    left.set(xlabel=x, ylabel=f"training loss, mean of {SMOOTHING} steps", yscale="log")
    right.set(xlabel=x, ylabel="PSNR on the validation cases [dB]")
    if baseline is not None:
        right.axhline(baseline, color="grey", linestyle=":", label=f"zero-filled {baseline:.2f} dB")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.suptitle(plain(title))
    _add_legend(figure, len(runs) + (baseline is not None))
    save_figure(figure, path)


def _add_legend(figure: Any, entries: int) -> None:
    """Name the curves below both charts, where it covers none of them, in as many columns as the width allows."""
    for columns in (3, 2, 1):
        figure.set_figheight(HEIGHT + LINE * math.ceil(entries / columns))
        legend = figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
        figure.draw_without_rendering()
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _label(name: str, scores: Sequence[Point], x: str) -> str:
    name = plain(method_name(name))
    if not scores:
        return name
    place, psnr = max(scores, key=lambda point: point[1])
    where = f"step {place:g}" if x == STEPS else f"after {place:.1f} min"
    return f"{name}, best {psnr:.2f} dB ({where})"
