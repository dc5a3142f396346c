"""Scores in a page: how good the methods are, case by case, and how sure one can be."""

from collections.abc import Sequence

from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.colours import Palette
from somamba.report.names import REFERENCE_METHOD
from somamba.report.page.charts import strip_chart
from somamba.report.page.markup import Html, element, joined
from somamba.report.render.html import html
from somamba.report.runs import ComparableRuns
from somamba.report.table import Cell, Column, Line, Table, TableBlock, number, text_cell
from somamba.report.tables.comparison import comparison_overview
from somamba.report.tables.ownership import ROUTES, route_cells, route_columns
from somamba.report.tables.scores import DIGITS, UNITS, metric_column, score_cells
from somamba.results.scores import METRICS


def scores_section(found: Sequence[ComparableRuns], palette: Palette) -> Html | None:
    """Everything about the evaluations; None if there are none."""
    if not found:
        return None
    note = "Methods share a table only if they were measured on the same cases through the same masks."
    parts = [_group(runs, f"contest-{number}", palette) for number, runs in enumerate(found)]
    return joined([element("p", note, class_="soft"), *parts])


def means_table(runs: ComparableRuns) -> Table:
    """Mean and standard deviation over cases, with the facts of each network."""
    routes = _routes(runs)
    columns = [Column(title="Method"), *route_columns(routes), *map(metric_column, METRICS)]
    columns += [Column(title=title) for title in ("Parameters", "Epochs", "Seed", "Weights")]
    scores = [score_cells(list(runs.entries.values()), metric) for metric in METRICS]
    lines: list[Line] = []
    for (name, records), numbers in zip(runs.entries.items(), zip(*scores, strict=True), strict=True):
        subject = records[0].subject
        ticks = route_cells(subject.method, routes) if subject.method in VARIANTS else [None] * len(routes)
        facts = [number(subject.parameters, ",d"), number(subject.epochs, ".3g"), number(subject.seed, "d")]
        weights = Cell(text=subject.weights[:8], code=True) if subject.weights else None
        lines.append([text_cell(name), *ticks, *numbers, *facts, weights])
    return Table(columns=columns, blocks=[TableBlock(lines)], caption="Mean ± standard deviation over cases")


def _group(runs: ComparableRuns, identifier: str, palette: Palette) -> Html:
    return joined(
        [
            element("h3", runs.title),
            element("p", runs.about, class_="soft"),
            html(means_table(runs)),
            _strip(runs, palette),
            _statistics(runs),
            _cases(runs, identifier),
        ]
    )


def _routes(runs: ComparableRuns) -> list[str]:
    """The routes of the paper's Table 4, if there are variants of SO-Mamba to tell apart."""
    variants = {records[0].subject.method for records in runs.entries.values()} & set(VARIANTS)
    return list(ROUTES) if len(variants) > 1 else []


def _strip(runs: ComparableRuns, palette: Palette) -> Html:
    subjects = [records[0].subject for records in runs.entries.values()]
    colours = [palette.colour(subject.method, subject.seed) for subject in subjects]
    groups = [(name, [(one.case, one.psnr) for one in records]) for name, records in runs.entries.items()]
    about = f"PSNR of every case by each of {len(groups)} methods on {runs.title}; the table below has the numbers."
    return strip_chart(groups, colours=colours, x="PSNR of each case [dB]; the bar is their mean", about=about)


def _statistics(runs: ComparableRuns) -> Html | None:
    found = runs.comparisons()
    if not found:
        return None
    note = (
        "Case by case: the interval comes from drawing cases again (bootstrap), p from Wilcoxon’s signed-rank test, "
        "two-sided, then adjusted by Holm to this table. It speaks of other cases, not of another training."
    )
    subjects = [records[0].subject for records in runs.entries.values()]
    if sum(subject.method == REFERENCE_METHOD for subject in subjects) > 1:
        note += " Of several trainings of SO-Mamba the longest is compared, of equally long ones the first seed."
    # The best weights of equal budgets may be a validation apart.
    lengths = [subject.epochs for subject in subjects if subject.epochs]
    if lengths and max(lengths) > 1.2 * min(lengths):
        note += " The networks were trained for different numbers of epochs: what differs is the training, too."
    title = element("h3", "Paired differences")
    return joined([title, element("p", note, class_="soft"), html(comparison_overview(found))])


def _cases(runs: ComparableRuns, identifier: str) -> Html:
    """Every case by itself, for one metric at a time."""
    buttons, tables = [], []
    for place, metric in enumerate(METRICS):
        part = f"{identifier}-{metric}"
        buttons.append(
            element("button", metric.upper(), type="button", aria_pressed=str(place == 0).lower(), data_shows=part)
        )
        tables.append(element("div", html(_case_table(runs, metric)), id=part, hidden=place > 0))
    choice = element("div", *buttons, class_="choices", role="group", aria_label="Metric", data_choose=True)
    title = "The case" if runs.first.cases == 1 else f"All {runs.first.cases} cases"
    return element("details", element("summary", title), choice, *tables)


def _case_table(runs: ComparableRuns, metric: str) -> Table:
    form = f".{DIGITS[metric]}f"
    by_case = {name: {one.case: one for one in records} for name, records in runs.entries.items()}
    columns = [Column(title="Case"), Column(title="Slices")]
    columns += [Column(title=name, first=metric_column(metric).first) for name in by_case]
    lines: list[Line] = []
    for case, first in next(iter(by_case.values())).items():
        values = [number(getattr(records[case], metric), form) for records in by_case.values()]
        lines.append([text_cell(case), number(first.slices, "d"), *values])
    caption = f"{metric.upper()}{UNITS.get(metric, '')}, mean over the slices of a case"
    return Table(columns=columns, blocks=[TableBlock(lines)], caption=caption)
