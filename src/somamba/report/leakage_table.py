"""The paper's Table 5: leakage of state and read-out for every variant, and its RLeak relative to SO-Mamba's."""

import csv
import io
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from somamba.errors import InputError
from somamba.evaluation.leakage_rows import LeakageRow, Levels, Measurement, by_cutoff, comparable
from somamba.evaluation.rows import Row, by_setting, safe_cell, spread
from somamba.models.so_mamba.variants import VARIANTS
from somamba.registry import Registry
from somamba.report.formats import PARTIAL_NOTE, pipe, plain, tex
from somamba.report.names import METHODS

YARDSTICK = "so_mamba"
TYING = ("tied_decay", "tied_interfaces")
SECTIONS = ("Ownership-route ablations", "Parameter-tying sanity checks")
ORDER = (YARDSTICK, "without_outlet", "without_access", "content_residency", "sor_router", "mamba_regularizer", *TYING)
"""The paper's three, then those it does not show, then the checks."""
MARKS = ("Access", "Outlet")
NUMBERS = ("psnr", "cutoff", "hleak", "rleak", "eta", "relative")
LEVELS = ("HLeak", "RLeak", "η", "Rel.")


class LeakageLine(NamedTuple):
    """One variant."""

    method: str
    section: str
    marks: tuple[bool, bool]
    """Whether G reaches the interfaces, and the output."""
    psnr: float | None
    """Mean over cases; None where no evaluation of these weights was given."""
    levels: tuple[Levels, ...]
    """At every cutoff."""
    relative: tuple[float | None, ...]
    """RLeak over that of SO-Mamba; None where SO-Mamba was not given."""
    partial: bool
    """Measured on a part of the split only."""


class LeakageTable(NamedTuple):
    """Ready to be written down."""

    cutoffs: Sequence[float]
    lines: Sequence[LeakageLine]

    @property
    def shows_psnr(self) -> bool:
        """Whether any variant has one."""
        return any(line.psnr is not None for line in self.lines)

    @property
    def partial(self) -> bool:
        """Whether any variant was measured on a part of the split."""
        return any(line.partial for line in self.lines)


def build_leakage_table(leaked: Sequence[LeakageRow], scored: Sequence[Row] = ()) -> LeakageTable:
    """Arrange rows of leakage; evaluations of the same weights on the same data add the PSNR.

    Raises:
        InputError: variants were not measured alike, one comes twice, or one is none of SO-Mamba's.
    """
    groups, cutoffs = comparable(leaked)
    methods = [key.method for key in groups]
    if double := sorted({name for name in methods if methods.count(name) > 1}):
        raise InputError(f"{double[0]} was measured more than once, with other weights; give the files of one of them.")
    if unknown := sorted(set(methods) - set(VARIANTS)):
        raise InputError(f"{unknown[0]} is no variant of SO-Mamba, so it has no routes to tick.")
    levels = {key: tuple(_levels(rows, cutoff) for cutoff in cutoffs) for key, rows in groups.items()}
    yardstick = next((levels[key] for key in groups if key.method == YARDSTICK), None)
    ordered = sorted(groups, key=lambda key: ORDER.index(key.method))
    return LeakageTable(cutoffs, [_line(key, groups[key], levels[key], yardstick, scored) for key in ordered])


def _levels(rows: Sequence[LeakageRow], cutoff: float) -> Levels:
    average = by_cutoff(rows)[cutoff]
    return Levels(average.hleak.mean, average.rleak.mean)


def _line(
    key: Measurement,
    rows: Sequence[LeakageRow],
    levels: tuple[Levels, ...],
    yardstick: tuple[Levels, ...] | None,
    scored: Sequence[Row],
) -> LeakageLine:
    relative: tuple[float | None, ...] = (None,) * len(levels)
    if yardstick is not None:
        pairs = zip(levels, yardstick, strict=True)
        relative = tuple(one.rleak / unit.rleak if unit.rleak else None for one, unit in pairs)
    routes = VARIANTS[key.method].routes
    return LeakageLine(
        method=key.method,
        section=SECTIONS[key.method in TYING],
        marks=(routes.access, routes.outlet),
        psnr=_psnr(key, scored),
        levels=levels,
        relative=relative,
        partial=key.cases < rows[0].split_cases,
    )


def _psnr(key: Measurement, scored: Sequence[Row]) -> float | None:
    """Of the same weights on the same data; an evaluation of others says nothing about these."""
    names = ("method", "dataset", "split", "protocol", "mask", "acceleration", "weights")
    for setting, rows in by_setting(scored).items():
        if all(getattr(setting, name) == getattr(key, name) for name in names):
            return spread([row.psnr for row in rows]).mean
    return None


def leakage_markdown(table: LeakageTable) -> str:
    """A pipe table; the sections are lines of their own."""
    heads = ["Variant", *MARKS, *(["PSNR"] if table.shows_psnr else [])]
    heads += [f"{level}, r = {cutoff:g}" for cutoff in table.cutoffs for level in LEVELS]
    lines = [pipe(heads), pipe(["---", ":---:", ":---:", *["---:"] * (len(heads) - 3)])]
    for section, group in groupby(table.lines, key=lambda line: line.section):
        lines.append(pipe([f"*{section}*", *[""] * (len(heads) - 1)]))
        for line in group:
            name = plain(METHODS[line.method]) + (" †" if line.partial else "")
            lines.append(pipe([name, *("✓" if mark else "–" for mark in line.marks), *_numbers(table, line, "×", "–")]))
    note = f"\n† {PARTIAL_NOTE}\n" if table.partial else ""
    return "\n".join(lines) + "\n" + note


def leakage_latex(table: LeakageTable) -> str:
    r"""A ``tabular`` in the dress of the paper's Table 5."""
    labels = ["Variant", *MARKS, *(["PSNR"] if table.shows_psnr else [])]
    count = len(labels) + len(LEVELS) * len(table.cutoffs)
    heads = [rf"\multirow{{2}}{{*}}{{\textbf{{{label}}}}}" for label in labels]
    heads += [rf"\multicolumn{{{len(LEVELS)}}}{{c}}{{$\boldsymbol{{r={cutoff:g}}}$}}" for cutoff in table.cutoffs]
    firsts = [len(labels) + 1 + number * len(LEVELS) for number in range(len(table.cutoffs))]
    levels = [r"\textbf{HLeak}", r"\textbf{RLeak}", r"$\boldsymbol{\eta}$", r"\textbf{Rel.}"]
    lines = [
        r"% needs \usepackage{multirow,amsmath,amssymb}",
        rf"\begin{{tabular}}{{{'c' * count}}}",
        r"\hline",
        " & ".join(heads) + r" \\",
        "".join(rf"\cline{{{first}-{first + len(LEVELS) - 1}}}" for first in firsts),
        " & ".join([*[""] * len(labels), *levels * len(table.cutoffs)]) + r" \\",
        r"\hline",
    ]
    for section, group in groupby(table.lines, key=lambda line: line.section):
        lines += [rf"\multicolumn{{{count}}}{{c}}{{\textit{{{section}}}}} \\", r"\hline"]
        for line in group:
            name = tex(METHODS[line.method]) + (r"$^\dagger$" if line.partial else "")
            marks = [r"$\checkmark$" if mark else "--" for mark in line.marks]
            lines.append(" & ".join([name, *marks, *_numbers(table, line, r"$\times$", "--")]) + r" \\")
        lines.append(r"\hline")
    lines += [r"\end{tabular}", *([rf"% $^\dagger$ {PARTIAL_NOTE}"] if table.partial else [])]
    return "\n".join(lines) + "\n"


def leakage_csv(table: LeakageTable) -> str:
    """One line for each variant and cutoff, all digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["method", "access", "outlet", "psnr", "cutoff", "hleak", "rleak", "eta", "relative", "whole_split"]
    )
    for line in table.lines:
        for cutoff, levels, relative in zip(table.cutoffs, line.levels, line.relative, strict=True):
            known = [
                "" if value is None else repr(value) for value in (line.psnr, cutoff, *levels, levels.eta, relative)
            ]
            writer.writerow([safe_cell(line.method), *map(int, line.marks), *known, int(not line.partial)])
    return text.getvalue()


LEAKAGE_FORMATS: Registry[Callable[[LeakageTable], str]] = Registry(
    "table format", {"markdown": leakage_markdown, "latex": leakage_latex, "csv": leakage_csv}
)


def _numbers(table: LeakageTable, line: LeakageLine, times: str, nothing: str) -> list[str]:
    cells = []
    if table.shows_psnr:
        cells.append(nothing if line.psnr is None else f"{line.psnr:.2f}")
    for levels, relative in zip(line.levels, line.relative, strict=True):
        cells += [f"{levels.hleak:.4f}", f"{levels.rleak:.4f}", f"{levels.eta:.3f}"]
        # As the paper writes them: 4.9 times, but 0.45 times.
        digits = 2 if relative is not None and relative < 1 else 1
        cells.append(nothing if relative is None else f"{relative:.{digits}f}{times}")
    return cells
