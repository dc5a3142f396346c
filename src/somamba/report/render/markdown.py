"""A table as Markdown."""

from collections.abc import Iterable

from somamba.report.table import PARTIAL_NOTE, Cell, Table

RULES = {"left": "---", "centre": ":---:", "right": "---:"}


def markdown(table: Table) -> str:
    """A pipe table; the best of a column is bold."""
    lines = [_pipe(plain(column.title) for column in table.columns), _pipe(RULES[one.align] for one in table.columns)]
    for block in table.blocks:
        if block.title:
            lines.append(_pipe([f"*{plain(block.title)}*", *[""] * (len(table.columns) - 1)]))
        lines += [_pipe(map(_cell, line)) for line in block.lines]
    notes = [f"† {PARTIAL_NOTE}"] if table.partial else []
    notes += [table.note] if table.note else []
    return "\n".join(lines) + "\n" + "".join(f"\n{note}\n" for note in notes)


def plain(text: str) -> str:
    """A text for Markdown. Names come from files: none of their signs may end a cell, open a tag or start a line."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _pipe(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    text = f"**{plain(cell.text)}**" if cell.best else plain(cell.text)
    return f"{text}{f' ± {cell.spread}' if cell.spread else ''}{' †' if cell.partial else ''}"
