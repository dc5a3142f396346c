"""HTML tables that sort by a click on a heading, or by the keyboard; see page/tables.js."""

from collections.abc import Sequence
from typing import NamedTuple

from somamba.report.markup import Content, Html, element


class Head(NamedTuple):
    """A heading; ``first`` is the order of the first click: the best of a column is to come first."""

    text: str
    first: str = "ascending"


class Entry(NamedTuple):
    """What a cell shows, and the number it sorts by; without a number it sorts by its text."""

    content: Content
    value: float | None = None


MISSING = Entry(None)


def sortable_table(heads: Sequence[Head], lines: Sequence[Sequence[Entry]], *, caption: str = "") -> Html:
    """A table; the first cell of a line names it, `MISSING` marks what was not measured and stays last."""
    heading = element(
        "tr",
        *(
            element("th", element("button", head.text, type="button"), scope="col", data_first=head.first)
            for head in heads
        ),
    )
    body = [element("tr", *(_cell(entry, place) for place, entry in enumerate(line))) for line in lines]
    about = element("caption", caption) if caption else None
    table = element("table", about, element("thead", heading), element("tbody", *body), class_="sortable")
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption or "table")


def _cell(entry: Entry, place: int) -> Html:
    if entry is MISSING:
        return element("td", "–", data_missing=True)
    if place == 0:
        return element("th", entry.content, scope="row", data_value=entry.value)
    return element("td", entry.content, data_value=entry.value)
