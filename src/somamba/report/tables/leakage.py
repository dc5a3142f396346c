"""Tables of leakage: the paper's Table 5, with the RLeak of variants relative to SO-Mamba's, and one for a page."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from somamba.errors import InputError
from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.names import REFERENCE_METHOD, distinct_names, place
from somamba.report.table import Cell, Column, Line, Table, TableBlock, number, text_cell
from somamba.report.tables.ownership import route_cells, route_columns
from somamba.results.averages import Spread, grouped, repeated
from somamba.results.comparable import conditions
from somamba.results.leakage import (
    LeakageRecord,
    LeakageSetting,
    Levels,
    by_cutoff,
    comparable_leakage,
)
from somamba.results.scores import ScoreRecord, average, by_evaluation

TYING = ("tied_decay", "tied_interfaces")
TITLES = ("Ownership-route ablations", "Parameter-tying sanity checks")
LEARNED = ("residency_unit", "residency_token", "residency_channel", "so_mamba_adaptive")
ABLATIONS = ("without_outlet", "without_access", "content_residency", *LEARNED, "sor_router", "mamba_regularizer")
ORDER = (REFERENCE_METHOD, *ABLATIONS, *TYING)
"""The paper's three variants, then those it does not show, then the checks."""
ROUTES = ("access", "outlet")
HEADINGS = {
    "HLeak": r"\textbf{HLeak}",
    "RLeak": r"\textbf{RLeak}",
    "η": r"$\boldsymbol{\eta}$",
    "Rel.": r"\textbf{Rel.}",
}


def leakage_table(leaked: Sequence[LeakageRecord], scored: Sequence[ScoreRecord] = ()) -> Table:
    """Arrange records of leakage; evaluations of the same weights on the same data add the PSNR.

    Raises:
        InputError: variants were not measured alike, one comes twice with one seed, or one is none of SO-Mamba's.
    """
    groups, measured_at = comparable_leakage(leaked)
    _check_variants(groups)
    levels = {key: _levels(records, measured_at) for key, records in groups.items()}
    references = {_seed(key): found for key, found in levels.items() if _method(key) == REFERENCE_METHOD}
    psnr = {key: _psnr(records, scored) for key, records in groups.items()}
    shows_psnr = any(value is not None for value in psnr.values())
    ordered = sorted(groups, key=lambda key: (ORDER.index(_method(key)), _seed(key)))
    names = dict(zip(ordered, distinct_names(ordered), strict=True))
    blocks, lines_of_csv = [], list[dict[str, Any]]()
    for title, keys in grouped(ordered, lambda key: TITLES[_method(key) in TYING]).items():
        lines: list[Line] = []
        for key in keys:
            # Trainings pair by seed; a single SO-Mamba is the reference of all.
            reference = references.get(_seed(key)) if len(references) > 1 else next(iter(references.values()), None)
            relative = _relative(levels[key], reference)
            partial = groups[key][0].partial
            scores = [psnr[key]] if shows_psnr else []
            cells = [None if value is None else number(value, ".2f") for value in scores]
            cells += [cell for pair in zip(levels[key], relative, strict=True) for cell in _numbers(*pair)]
            lines.append([Cell(text=names[key], partial=partial), *route_cells(_method(key), ROUTES), *cells])
            lines_of_csv += _csv_lines(key, psnr[key], zip(measured_at, levels[key], relative, strict=True), partial)
        blocks.append(TableBlock(lines, title))
    columns = [Column(title="Variant", align="left"), *route_columns(ROUTES)]
    columns += [Column(title="PSNR")] if shows_psnr else []
    columns += [
        Column(title=f"{heading}, r = {cutoff:g}", levels=(rf"$\boldsymbol{{r={cutoff:g}}}$", bold))
        for cutoff in measured_at
        for heading, bold in HEADINGS.items()
    ]
    return Table(columns=columns, blocks=blocks, records=lines_of_csv, dress="lines")


def leakage_overview(groups: Mapping[str, tuple[LeakageSetting, Sequence[LeakageRecord]]]) -> Table:
    """The numbers of the table for a page, one line for each network and cutoff; networks need not be comparable.

    Args:
        groups: The measurements, by a name that is unique here.
    """
    radii = {key.radius for key, _ in groups.values()}
    titles = ["Method", "r", "HLeak", "RLeak", "η", "Cases", "Measured on"]
    titles += ["ρ = 1 at the"] if len(radii) > 1 else []
    lines: list[Line] = []
    for name, (key, records) in groups.items():
        for cutoff, (hleak, rleak, eta) in by_cutoff(records).items():
            numbers = [number(cutoff, "g"), _mean(hleak), _mean(rleak), number(eta, ".3f")]
            lines.append(
                [
                    text_cell(name),
                    *numbers,
                    number(key.evaluation.cases, "d"),
                    text_cell(place(key.evaluation.setting)),
                    *([text_cell(key.radius)] if len(radii) > 1 else []),
                ]
            )
    return Table(columns=[Column(title=title) for title in titles], blocks=[TableBlock(lines)])


def _check_variants(measured: Collection[LeakageSetting]) -> None:
    if unknown := sorted({_method(key) for key in measured} - set(VARIANTS)):
        raise InputError(f"{unknown[0]} is no variant of SO-Mamba, so it has no routes to tick.")
    if double := repeated([(_method(key), _seed(key)) for key in measured]):
        method, seed = min(double)
        raise InputError(
            f"{method}, seed {seed}, was measured more than once, with other weights; give the files of one of them."
        )


def _method(key: LeakageSetting) -> str:
    return key.evaluation.subject.method


def _seed(key: LeakageSetting) -> int:
    return key.evaluation.subject.seed


def _levels(records: Sequence[LeakageRecord], measured_at: Sequence[float]) -> list[Levels]:
    averages = by_cutoff(records)
    return [averages[cutoff].levels for cutoff in measured_at]


def _relative(levels: Sequence[Levels], reference: Sequence[Levels] | None) -> list[float | None]:
    if reference is None:
        return [None] * len(levels)
    return [one.rleak / unit.rleak if unit.rleak else None for one, unit in zip(levels, reference, strict=True)]


def _psnr(leaked: Sequence[LeakageRecord], scored: Sequence[ScoreRecord]) -> float | None:
    """The PSNR of the same weights under the same conditions; another evaluation says nothing about these."""
    subject, wanted = leaked[0].subject, conditions(leaked)
    for evaluation, records in by_evaluation(scored).items():
        same = (evaluation.subject.method, evaluation.subject.weights) == (subject.method, subject.weights)
        if same and conditions(records) == wanted:
            return average(records, "psnr").mean
    return None


def _numbers(levels: Levels, relative: float | None) -> list[Cell | None]:
    # As the paper writes them: 4.9 times, but 0.45 times.
    digits = 2 if relative is not None and relative < 1 else 1
    times = None if relative is None else Cell(text=f"{relative:.{digits}f}×", value=relative)
    return [number(levels.hleak, ".4f"), number(levels.rleak, ".4f"), number(levels.eta, ".3f"), times]


def _csv_lines(key: LeakageSetting, psnr: float | None, found: Any, partial: bool) -> list[dict[str, Any]]:
    """One line for each cutoff, with all digits."""
    routes = VARIANTS[_method(key)].routes
    about = {"method": _method(key), "seed": _seed(key), "access": routes.access, "outlet": routes.outlet, "psnr": psnr}
    return [
        {
            **about,
            "cutoff": cutoff,
            **levels._asdict(),
            "eta": levels.eta,
            "relative": relative,
            "whole_split": not partial,
        }
        for cutoff, levels, relative in found
    ]


def _mean(spread: Spread) -> Cell:
    return Cell(text=f"{spread.mean:.4f}", value=spread.mean, spread=f"{spread.std:.4f}")
