"""Paired comparisons of methods as a table."""

from collections.abc import Sequence

from somamba.report.statistics import CONFIDENCE, Comparison
from somamba.report.table import Cell, Column, Line, Table, TableBlock, number, text_cell
from somamba.report.tables.scores import DIGITS


def comparison_table(found: Sequence[Comparison]) -> Table:
    """One line for each pair and metric, for a terminal."""
    titles = ["comparison", "metric", "cases", "mean difference", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)"]
    columns = [Column(title=title, align="right" if place > 1 else "left") for place, title in enumerate(titles)]
    lines: list[Line] = []
    for one in found:
        form = f"+.{DIGITS[one.metric]}f"
        interval = text_cell(f"[{one.low:{form}}, {one.high:{form}}]")
        lines.append([*_pair(one), number(one.cases, "d"), number(one.mean, form), interval, *_chances(one)])
    return Table(columns=columns, blocks=[TableBlock(lines)])


def comparison_overview(found: Sequence[Comparison]) -> Table:
    """Return the comparison as a table for a page."""
    titles = ["Comparison", "Metric", "Mean difference", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)"]
    columns = [
        Column(title=title, first="descending" if title == "Mean difference" else "ascending") for title in titles
    ]
    lines: list[Line] = []
    for one in found:
        form = f"+.{DIGITS[one.metric]}f"
        mean = Cell(text=_signed(f"{one.mean:{form}}"), value=one.mean)
        interval = Cell(text=_signed(f"{one.low:{form}} … {one.high:{form}}"), value=one.low)
        lines.append([*_pair(one), mean, interval, *_chances(one)])
    return Table(columns=columns, blocks=[TableBlock(lines)])


def _pair(one: Comparison) -> list[Cell]:
    return [text_cell(f"{one.first} − {one.second}"), text_cell(one.metric.upper())]


def _chances(one: Comparison) -> list[Cell]:
    return [number(one.p, ".2g"), number(one.p_holm, ".2g")]


def _signed(text: str) -> str:
    return text.replace("-", "−")
