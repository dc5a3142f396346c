"""Scores arranged as the paper prints them: methods down, datasets and accelerations across, best marked.

There are three layouts, the paper's: ``columns`` (its Table 1) puts the accelerations side by side, ``blocks`` (its
Table 2) one below the other, and ``ownership`` (its Table 4) is the first with the routes of each SO-Mamba variant
ticked. A column compares methods only under the same conditions, see `somamba.results.comparable`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from somamba.errors import InputError
from somamba.report.names import DATASETS, dataset_name, method_name, method_place
from somamba.report.render.latex import tex
from somamba.report.table import Cell, Column, Line, Table, TableBlock, text_cell
from somamba.report.tables.ownership import ROUTES, route_cells, route_columns
from somamba.results.averages import grouped
from somamba.results.comparable import check_comparable, conditions
from somamba.results.record import flat
from somamba.results.scores import ScoreRecord, average, by_evaluation, check_metrics
from somamba.results.setting import Evaluation

DIGITS = {"psnr": 2, "ssim": 3, "nmse": 4}
UNITS = {"psnr": " [dB]"}
LOWER_IS_BETTER = ("nmse",)
LAYOUTS = ("columns", "blocks", "ownership")


class MethodRun(NamedTuple):
    """What has a line of its own: a method, or each of its seeds if it comes with several."""

    method: str
    seed: int | None

    @property
    def name(self) -> str:
        """The name as it is printed."""
        name = method_name(self.method)
        return name if self.seed is None else f"{name}, seed {self.seed}"


class Place(NamedTuple):
    """The part of the table that one evaluation fills."""

    run: MethodRun
    dataset: str
    acceleration: float


class Shown(NamedTuple):
    """What a column shows; ``acceleration`` is None if accelerations are blocks of lines."""

    dataset: str
    metric: str
    acceleration: float | None


def score_table(
    records: Iterable[ScoreRecord], *, layout: str = "columns", metrics: Sequence[str] = ("psnr", "ssim")
) -> Table:
    """Arrange scores; refused if a cell would be filled twice or a column would compare different things.

    Args:
        records: Records of one or several evaluations.
        layout: One of `LAYOUTS`.
        metrics: The metrics to show.
    """
    if layout not in LAYOUTS:
        raise InputError(f"No layout is named {layout!r}; known: {', '.join(LAYOUTS)}.")
    check_metrics(metrics)
    found = _evaluations(by_evaluation(records))
    accelerations = sorted({place.acceleration for place in found})
    across = [None] if layout == "blocks" else accelerations
    shown = [
        Shown(dataset, metric, acceleration)
        for dataset in _ordered({place.dataset for place in found})
        for metric in metrics
        for acceleration in across
        if acceleration is None or any(place[1:] == (dataset, acceleration) for place in found)
    ]
    names = [Column(title="Method", align="left")]
    if layout == "blocks":
        names.insert(0, Column(title="AF", align="left", merged=True))
    routes = list(ROUTES) if layout == "ownership" else []
    blocks, lines_of_csv = [], list[dict[str, Any]]()
    for block in accelerations if layout == "blocks" else [None]:
        runs = _runs(place for place in found if block in (None, place.acceleration))
        cells = [_column(found, runs, column, block) for column in shown]
        ticks = [route_cells(run.method, routes) if routes else [] for run in runs]
        factor = [] if block is None else [Cell(text=_factor(block), latex=rf"$\times {block:g}$")]
        lines: list[Line] = []
        for number, run in enumerate(runs):
            numbers = [column[number] for column in cells]
            lines.append([*factor, text_cell(run.name), *ticks[number], *numbers])
            lines_of_csv += _csv_lines(run.name, ticks[number], zip(shown, numbers, strict=True), block)
        blocks.append(TableBlock(lines))
    columns = [*names, *route_columns(routes), *map(_heading, shown)]
    return Table(columns=columns, blocks=blocks, records=lines_of_csv)


def score_cells(evaluations: Sequence[Sequence[ScoreRecord] | None], metric: str) -> list[Cell | None]:
    """A column of means over cases; those that show the best number are marked if there are several."""
    digits = DIGITS[metric]
    spreads = [average(records, metric) if records else None for records in evaluations]
    # Compared as printed: methods that show the same number are both best.
    means = [round(one.mean, digits) if one else None for one in spreads]
    known = [mean for mean in means if mean is not None]
    best = (min if metric in LOWER_IS_BETTER else max)(known) if len(known) > 1 else None
    return [
        Cell(
            text=f"{one.mean:.{digits}f}",
            value=one.mean,
            spread=f"{one.std:.{digits}f}",
            best=mean == best,
            partial=records[0].partial,
        )
        if records and one
        else None
        for records, one, mean in zip(evaluations, spreads, means, strict=True)
    ]


def metric_column(metric: str) -> Column:
    """The heading of a metric with its unit, for a page."""
    lower = metric in LOWER_IS_BETTER
    title = f"{metric.upper()}{UNITS.get(metric, '')} {'↓' if lower else '↑'}"
    return Column(title=title, first="ascending" if lower else "descending")


def _column(
    found: Mapping[Place, Sequence[ScoreRecord]], runs: Sequence[MethodRun], shown: Shown, block: float | None
) -> list[Cell | None]:
    acceleration = (shown.acceleration if block is None else block) or 0.0
    return score_cells([found.get(Place(run, shown.dataset, acceleration)) for run in runs], shown.metric)


def _csv_lines(
    name: str, ticks: Sequence[Cell], cells: Iterable[tuple[Shown, Cell | None]], block: float | None
) -> list[dict[str, Any]]:
    """One line for each cell."""
    routes = {title: tick.value == 1 for title, tick in zip(ROUTES.values(), ticks, strict=False)}
    lines: list[dict[str, Any]] = []
    for shown, cell in cells:
        if cell:
            acceleration = shown.acceleration if block is None else block
            place = {"dataset": shown.dataset, "acceleration": f"{acceleration:g}", "metric": shown.metric}
            numbers = {"mean": cell.text, "std": cell.spread, "best": cell.best, "whole_split": not cell.partial}
            lines.append({"method": name, **routes, **place, **numbers})
    return lines


def _evaluations(groups: Mapping[Evaluation, Sequence[ScoreRecord]]) -> dict[Place, Sequence[ScoreRecord]]:
    if not groups:
        raise InputError("There are no rows to make a table of.")
    seeds = {
        method: {one.subject.seed for one in group}
        for method, group in grouped(groups, lambda one: one.subject.method).items()
    }
    found: dict[Place, Evaluation] = {}
    for evaluation in groups:
        method, seed = evaluation.subject.method, evaluation.subject.seed
        run = MethodRun(method, seed if len(seeds[method]) > 1 else None)
        place = Place(run, evaluation.setting.dataset, evaluation.setting.acceleration)
        other = found.setdefault(place, evaluation)
        if other != evaluation:
            values = flat(evaluation)
            differ = [name for name, value in flat(other).items() if value != values[name]]
            raise InputError(
                f"Two evaluations of {run.name} on {place.dataset} x{place.acceleration:g}, different in "
                f"{', '.join(differ)}; give the files of one of them."
            )
    for places in grouped(found, lambda place: place[1:]).values():
        check_comparable((place.run.name, conditions(groups[found[place]])) for place in places)
    return {place: groups[evaluation] for place, evaluation in found.items()}


def _heading(shown: Shown) -> Column:
    lower = shown.metric in LOWER_IS_BETTER
    titles = [dataset_name(shown.dataset), f"{shown.metric.upper()} {'↓' if lower else '↑'}"]
    levels = [rf"\textbf{{{tex(titles[0])}}}"]
    arrow = r"\downarrow" if lower else r"\uparrow"
    levels.append(rf"\textbf{{{shown.metric.upper()}}} ${arrow}$")
    if shown.acceleration is not None:
        titles.append(_factor(shown.acceleration))
        levels.append(f"AF={shown.acceleration:g}")
    return Column(title=" ".join(titles), levels=tuple(levels))


def _factor(acceleration: float) -> str:
    return f"×{acceleration:g}"


def _runs(places: Iterable[Place]) -> list[MethodRun]:
    """The runs in the order of the methods, then by seed."""
    return sorted({place.run for place in places}, key=lambda run: (method_place(run.method), run.seed or 0))


def _ordered(names: Iterable[str]) -> list[str]:
    places = {name: place for place, name in enumerate(DATASETS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))
