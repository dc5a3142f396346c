"""The paper's Table 5: leakage of state and read-out for every variant, and its RLeak relative to SO-Mamba's."""

import csv
import io
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from somamba.errors import InputError
from somamba.evaluation.leakage_rows import LeakageRow, Levels, Measurement, by_cutoff, comparable
from somamba.evaluation.rows import Row, by_setting, safe_cell, spread
from somamba.models.so_mamba.variants import VARIANTS
from somamba.registry import Registry
from somamba.report.formats import PARTIAL_NOTE, pipe, plain, tex
from somamba.report.names import distinct_names

YARDSTICK = "so_mamba"
TYING = ("tied_decay", "tied_interfaces")
SECTIONS = ("Ownership-route ablations", "Parameter-tying sanity checks")
LEARNED = ("residency_unit", "residency_token", "residency_channel", "so_mamba_adaptive")
ABLATIONS = ("without_outlet", "without_access", "content_residency", *LEARNED, "sor_router", "mamba_regularizer")
ORDER = (YARDSTICK, *ABLATIONS, *TYING)
"""The paper's three, then those it does not show, then the checks."""
MARKS = ("Access", "Outlet")
NUMBERS = ("psnr", "cutoff", "hleak", "rleak", "eta", "relative")
LEVELS = ("HLeak", "RLeak", "η", "Rel.")


class LeakageLine(NamedTuple):
    """One variant, or one training of it where several seeds are shown."""

    method: str
    seed: int
    name: str
    """As the paper calls the variant; its seed with it where there are several."""
    section: str
    marks: tuple[bool, bool]
    """Whether G reaches the interfaces, and the output."""
    psnr: float | None
    """Mean over cases; None where no evaluation of these weights was given."""
    levels: tuple[Levels, ...]
    """At every cutoff."""
    relative: tuple[float | None, ...]
    """RLeak over that of SO-Mamba, of the same seed where there are several; None where it was not given."""
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
        InputError: variants were not measured alike, one comes twice with one seed, or one is none of SO-Mamba's.
    """
    groups, cutoffs = comparable(leaked)
    _check_variants(groups)
    levels = {key: tuple(_levels(rows, cutoff) for cutoff in cutoffs) for key, rows in groups.items()}
    yardsticks = {key.seed: levels[key] for key in groups if key.method == YARDSTICK}
    ordered = sorted(groups, key=lambda key: (ORDER.index(key.method), key.seed))
    lines = []
    for key, name in zip(ordered, distinct_names(ordered), strict=True):
        # Trainings pair by seed; a single SO-Mamba is the measure of all.
        yardstick = yardsticks.get(key.seed) if len(yardsticks) > 1 else next(iter(yardsticks.values()), None)
        lines.append(
            LeakageLine(
                method=key.method,
                seed=key.seed,
                name=name,
                section=SECTIONS[key.method in TYING],
                marks=_marks(key.method),
                psnr=_psnr(key, groups[key], scored),
                levels=levels[key],
                relative=_relative(levels[key], yardstick),
                partial=key.cases < groups[key][0].split_cases,
            )
        )
    return LeakageTable(cutoffs, lines)


def _check_variants(measured: Collection[Measurement]) -> None:
    if unknown := sorted({key.method for key in measured} - set(VARIANTS)):
        raise InputError(f"{unknown[0]} is no variant of SO-Mamba, so it has no routes to tick.")
    trained = [(key.method, key.seed) for key in measured]
    if double := sorted({one for one in trained if trained.count(one) > 1}):
        method, seed = double[0]
        raise InputError(
            f"{method}, seed {seed}, was measured more than once, with other weights; give the files of one of them."
        )


def _marks(method: str) -> tuple[bool, bool]:
    routes = VARIANTS[method].routes
    return routes.access, routes.outlet


def _levels(rows: Sequence[LeakageRow], cutoff: float) -> Levels:
    average = by_cutoff(rows)[cutoff]
    return Levels(average.hleak.mean, average.rleak.mean)


def _relative(levels: tuple[Levels, ...], yardstick: tuple[Levels, ...] | None) -> tuple[float | None, ...]:
    if yardstick is None:
        return (None,) * len(levels)
    return tuple(one.rleak / unit.rleak if unit.rleak else None for one, unit in zip(levels, yardstick, strict=True))


def _psnr(key: Measurement, leaked: Sequence[LeakageRow], scored: Sequence[Row]) -> float | None:
    """Of the same weights on the same cases through the same masks; another evaluation says nothing about these."""
    names = ("method", "dataset", "split", "protocol", "mask", "acceleration", "weights")
    measured = {(row.case, row.mask_digest) for row in leaked}
    for setting, rows in by_setting(scored).items():
        same = all(getattr(setting, name) == getattr(key, name) for name in names)
        if same and {(row.case, row.mask_digest) for row in rows} == measured:
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
            name = plain(line.name) + (" †" if line.partial else "")
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
            name = tex(line.name) + (r"$^\dagger$" if line.partial else "")
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
        ["method", "seed", "access", "outlet", "psnr", "cutoff", "hleak", "rleak", "eta", "relative", "whole_split"]
    )
    for line in table.lines:
        for cutoff, levels, relative in zip(table.cutoffs, line.levels, line.relative, strict=True):
            known = [
                "" if value is None else repr(value) for value in (line.psnr, cutoff, *levels, levels.eta, relative)
            ]
            writer.writerow([safe_cell(line.method), line.seed, *map(int, line.marks), *known, int(not line.partial)])
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
