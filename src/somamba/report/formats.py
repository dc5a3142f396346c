"""A table as text: Markdown for people, LaTeX for papers, CSV for machines."""

import csv
import io
from collections.abc import Callable, Sequence
from itertools import groupby

from somamba.evaluation.rows import safe_cell
from somamba.registry import Registry
from somamba.report.names import dataset_name
from somamba.report.tables import LOWER_IS_BETTER, Cell, Column, Line, Table

PARTIAL_NOTE = "measured on a part of the split."
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"} | {"→": r"$\to$", "Δ": r"$\Delta$"}


def markdown(table: Table) -> str:
    """A pipe table; the best of a column is bold."""
    heads = [*_labels(table), *table.marks, *(" ".join(_heading(column)) for column in table.columns)]
    rules = ["---"] * len(_labels(table)) + [":---:"] * len(table.marks) + ["---:"] * len(table.columns)
    lines = [pipe(heads), pipe(rules)]
    for line in table.lines:
        labels = [_factor(line.acceleration)] if line.acceleration is not None else []
        marks = ["✓" if mark else "–" for mark in line.marks]
        lines.append(pipe([*labels, plain(line.method), *marks, *map(_markdown_cell, line.cells)]))
    note = f"\n† {PARTIAL_NOTE}\n" if _partial(table) else ""
    return "\n".join(lines) + "\n" + note


def latex(table: Table) -> str:
    r"""A ``tabular`` in the paper's dress (booktabs, multirow, ``\mstd{mean}{deviation}``)."""
    labels = [*_labels(table), *table.marks]
    lines = [
        r"% needs \usepackage{booktabs,multirow,amssymb}",
        r"\providecommand{\mstd}[2]{#1\raisebox{-0.35ex}{\tiny$\pm#2$}}",
        r"\providecommand{\bmstd}[2]{\textbf{#1}\raisebox{-0.35ex}{\tiny$\pm#2$}}",
        rf"\begin{{tabular}}{{{'c' * (len(_labels(table)) - 1)}l{'c' * (len(table.marks) + len(table.columns))}}}",
        r"\toprule",
        *_latex_heads(table, labels),
        r"\midrule",
    ]
    for number, (acceleration, block) in enumerate(groupby(table.lines, key=lambda line: line.acceleration)):
        lines += [r"\midrule"] if number else []
        lines += _latex_block(acceleration, list(block))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"% $^\dagger$ {PARTIAL_NOTE}"] if _partial(table) else []
    return "\n".join(lines) + "\n"


def comma_separated(table: Table) -> str:
    """Method, dataset, acceleration, metric, mean and std: one line for each cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", *table.marks, "dataset", "acceleration", "metric", "mean", "std", "best", "whole_split"])
    for line in table.lines:
        for column, cell in zip(table.columns, line.cells, strict=True):
            acceleration = column.acceleration if line.acceleration is None else line.acceleration
            if cell and acceleration is not None:
                names = [safe_cell(line.method), *map(int, line.marks), safe_cell(column.dataset)]
                writer.writerow(
                    [
                        *names,
                        f"{acceleration:g}",
                        column.metric,
                        cell.mean,
                        cell.std,
                        int(cell.best),
                        int(not cell.partial),
                    ]
                )
    return text.getvalue()


FORMATS: Registry[Callable[[Table], str]] = Registry(
    "table format", {"markdown": markdown, "latex": latex, "csv": comma_separated}
)


def _labels(table: Table) -> list[str]:
    return ["Method"] if table.lines[0].acceleration is None else ["AF", "Method"]


def _heading(column: Column) -> list[str]:
    arrow = "↓" if column.metric in LOWER_IS_BETTER else "↑"
    heads = [plain(dataset_name(column.dataset)), f"{column.metric.upper()} {arrow}"]
    return heads if column.acceleration is None else [*heads, _factor(column.acceleration)]


def _factor(acceleration: float) -> str:
    return f"×{acceleration:g}"


def _partial(table: Table) -> bool:
    return any(cell.partial for line in table.lines for cell in line.cells if cell)


def pipe(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """A text for Markdown. Names come from files: none of their signs may end a cell, open a tag or start a line."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    mean = f"**{cell.mean}**" if cell.best else cell.mean
    return f"{mean} ± {cell.std}{' †' if cell.partial else ''}"


def tex(text: str) -> str:
    """The same for LaTeX."""
    return "".join(LATEX.get(sign, sign) for sign in " ".join(text.split()))


def _latex_cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    macro = "bmstd" if cell.best else "mstd"
    return rf"\{macro}{{{cell.mean}}}{{{cell.std}}}" + (r"$^\dagger$" if cell.partial else "")


def _latex_heads(table: Table, labels: Sequence[str]) -> list[str]:
    levels = 2 if table.columns[0].acceleration is None else 3
    lines = []
    for level in range(levels):
        heads = [rf"\multirow{{{levels}}}{{*}}{{\textbf{{{tex(label)}}}}}" if level == 0 else "" for label in labels]
        rules, start = [], len(labels) + 1
        for head, group in groupby(table.columns, key=lambda column: column[: level + 1]):
            width = len(list(group))
            heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex_head(Column(*head, *[None] * (2 - level)), level)}}}")
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        lines.append(" & ".join(heads) + r" \\")
        lines += ["".join(rules)] if level < levels - 1 else []
    return lines


def _latex_head(column: Column, level: int) -> str:
    if level == 0:
        return rf"\textbf{{{tex(dataset_name(column.dataset))}}}"
    if level == 1:
        arrow = r"\downarrow" if column.metric in LOWER_IS_BETTER else r"\uparrow"
        return rf"\textbf{{{column.metric.upper()}}} ${arrow}$"
    return f"AF={column.acceleration:g}"


def _latex_block(acceleration: float | None, block: Sequence[Line]) -> list[str]:
    lines = []
    for number, line in enumerate(block):
        marks = [r"$\checkmark$" if mark else "--" for mark in line.marks]
        cells = [tex(line.method), *marks, *map(_latex_cell, line.cells)]
        if acceleration is not None:
            cells.insert(0, rf"\multirow{{{len(block)}}}{{*}}{{$\times {acceleration:g}$}}" if number == 0 else "")
        lines.append(" & ".join(cells) + r" \\")
    return lines
