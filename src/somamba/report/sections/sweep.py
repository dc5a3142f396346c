"""The runs of a sweep in a page."""

from collections.abc import Sequence

from somamba.report.page.markup import Html, element, joined
from somamba.report.render.html import html
from somamba.report.tables.sweep import NOTE, runs_table
from somamba.results.sweep import SweepRecord


def sweep_section(records: Sequence[SweepRecord]) -> Html | None:
    """One line for each run; None if there are none."""
    return joined([element("p", NOTE, class_="soft"), html(runs_table(records))]) if records else None
