"""A table ready to be written down: every number is text; rules, marks and signs are left to the format.

`somamba.report.tables` makes tables from records, `somamba.report.render` writes them as Markdown, LaTeX, CSV or HTML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

PARTIAL_NOTE = "measured on a part of the split."


@dataclass(frozen=True, kw_only=True)
class Column:
    """The heading of a column, and how its cells stand."""

    title: str
    """Heading in one line."""
    align: Literal["left", "centre", "right"] = "right"
    first: Literal["ascending", "descending"] = "ascending"
    """Order of the first click on the heading in a page: the best of a column is to come first."""
    levels: tuple[str, ...] = ()
    """Heading in LaTeX from the outermost level to the innermost; neighbours with the same outer level share it."""
    merged: bool = False
    """Whether LaTeX writes equal cells of a block once."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One entry of a table; an entry that was not measured is None."""

    text: str
    value: int | float | None = None
    """Number that a page sorts by; it sorts by the text if this is None."""
    spread: str = ""
    """Standard deviation over cases, as text."""
    best: bool = False
    """Whether it is the best of its column, compared as printed."""
    partial: bool = False
    """Whether it was measured on a part of the split only."""
    code: bool = False
    """Whether it is an identifier, such as a digest."""
    latex: str = ""
    """The text in LaTeX if it is not the same with its signs escaped."""


Line = Sequence[Cell | None]
"""One cell for each column."""


@dataclass(frozen=True)
class TableBlock:
    """Lines that belong together."""

    lines: Sequence[Line]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns, and lines in blocks."""

    columns: Sequence[Column]
    blocks: Sequence[TableBlock]
    note: str = ""
    """Sentences below the table."""
    caption: str = ""
    records: Sequence[Mapping[str, Any]] = ()
    """Lines of the CSV file, by column; without them the cells are written."""
    dress: Literal["booktabs", "lines"] = "booktabs"
    """How LaTeX draws rules."""

    @property
    def lines(self) -> list[Line]:
        """The lines of all blocks."""
        return [line for block in self.blocks for line in block.lines]

    @property
    def partial(self) -> bool:
        """Whether any cell was measured on a part of the split only."""
        return any(cell.partial for line in self.lines for cell in line if cell)


def mark(is_open: bool) -> Cell:
    """Return a cell with a tick or a dash."""
    return Cell(text="✓", value=1) if is_open else Cell(text="–", value=0)


def number(value: int | float, form: str) -> Cell:
    """A number in the form of a format specification, such as ``.2f``, which sorts by its value."""
    return Cell(text=format(value, form), value=value)


def text_cell(text: str) -> Cell:
    """Return a cell that holds a text."""
    return Cell(text=text)
