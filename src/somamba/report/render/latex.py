r"""A table as a LaTeX ``tabular`` in the dress of the paper: booktabs for scores, plain lines for leakage."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from somamba.report.table import PARTIAL_NOTE, Cell, Column, Table, TableBlock

SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SIGNS |= {sign: f"\\{sign}" for sign in "&%$#_{}"} | {"→": r"$\to$", "Δ": r"$\Delta$", "η": r"$\eta$"}
SIGNS |= {"×": r"$\times$", "✓": r"$\checkmark$", "–": "--", "−": "$-$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}


class Dress(NamedTuple):
    """How a table looks."""

    start: tuple[str, ...]
    """Lines before the table."""
    rules: tuple[str, str, str]
    """Rules at the top, in the middle and at the bottom."""
    under: str
    """Rule under a heading that several columns share."""
    left: str
    """The alignment of names."""
    wrapped: bool
    """Whether headings of single columns are centred by themselves."""


DRESSES = {
    "booktabs": Dress(
        (
            r"% needs \usepackage{booktabs,multirow,amssymb}",
            r"\providecommand{\mstd}[2]{#1\raisebox{-0.35ex}{\tiny$\pm#2$}}",
            r"\providecommand{\bmstd}[2]{\textbf{#1}\raisebox{-0.35ex}{\tiny$\pm#2$}}",
        ),
        (r"\toprule", r"\midrule", r"\bottomrule"),
        r"\cmidrule(lr)",
        "l",
        wrapped=True,
    ),
    "lines": Dress(
        (r"% needs \usepackage{multirow,amsmath,amssymb}",), (r"\hline",) * 3, r"\cline", "c", wrapped=False
    ),
}


def latex(table: Table) -> str:
    r"""A ``tabular``; ``\mstd{mean}{deviation}`` writes a mean, ``\bmstd`` the best of a column."""
    dress = DRESSES[table.dress]
    top, middle, bottom = dress.rules
    aligned = "".join(dress.left if one.align == "left" and not one.merged else "c" for one in table.columns)
    lines = [*dress.start, rf"\begin{{tabular}}{{{aligned}}}", top, *_heads(table.columns, dress)]
    for block in table.blocks:
        lines.append(middle)
        if block.title:
            lines += [_shared(len(table.columns), rf"\textit{{{tex(block.title)}}}") + r" \\", middle]
        lines += _block(table.columns, block)
    lines += [bottom, r"\end{tabular}"]
    lines += [rf"% $^\dagger$ {PARTIAL_NOTE}"] if table.partial else []
    lines += [f"% {table.note}"] if table.note else []
    return "\n".join(lines) + "\n"


def tex(text: str) -> str:
    """A text for LaTeX: names come from files, and none of their signs may be a command."""
    return "".join(SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def _heads(columns: Sequence[Column], dress: Dress) -> list[str]:
    depth = max(1, *(len(column.levels) for column in columns))
    lines = []
    for level in range(depth):
        heads, rules, start = [], [], 1
        # Columns without levels have one heading over the whole height.
        for key, group in groupby(enumerate(columns), key=lambda one: one[1].levels[: level + 1] or one[0]):
            width = len(list(group))
            if isinstance(key, int):
                title = rf"\textbf{{{tex(columns[key].title)}}}"
                heads.append("" if level else title if depth == 1 else rf"\multirow{{{depth}}}{{*}}{{{title}}}")
            else:
                inner = level == depth - 1
                heads.append(key[-1] if inner and not dress.wrapped else _shared(width, key[-1]))
                rules.append(rf"{dress.under}{{{start}-{start + width - 1}}}")
            start += width
        lines.append(" & ".join(heads) + r" \\")
        lines += ["".join(rules)] if level < depth - 1 else []
    return lines


def _shared(width: int, text: str) -> str:
    return rf"\multicolumn{{{width}}}{{c}}{{{text}}}"


def _block(columns: Sequence[Column], block: TableBlock) -> list[str]:
    lines = []
    for number, line in enumerate(block.lines):
        cells = [_cell(cell) for cell in line]
        for place, column in enumerate(columns):
            if column.merged:
                cells[place] = "" if number else rf"\multirow{{{len(block.lines)}}}{{*}}{{{cells[place]}}}"
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    text = cell.latex or tex(cell.text)
    if cell.spread:
        text = rf"\{'bmstd' if cell.best else 'mstd'}{{{text}}}{{{cell.spread}}}"
    elif cell.best:
        text = rf"\textbf{{{text}}}"
    return text + (r"$^\dagger$" if cell.partial else "")
