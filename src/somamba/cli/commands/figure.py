"""``somamba figure KIND``: the paper's pictures, drawn from files that other commands wrote."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from somamba.cli.output import say
from somamba.errors import InputError
from somamba.report.figures.canvas import save_figure
from somamba.report.figures.gates import gates_figure
from somamba.report.figures.leakage import leakage_figure
from somamba.report.figures.reconstructions import Box, reconstructions_figure
from somamba.report.figures.streams import spectra_figure, streams_figure
from somamba.results.gallery import KeptCase, read_gallery
from somamba.results.leakage import LeakageRecord
from somamba.results.record import read_records
from somamba.results.streams import read_streams


def main(options: Namespace) -> None:
    """Draw the figure that is asked for, and write it."""
    save_figure(DRAW[options.kind](options), options.output)
    say(f"wrote {options.output}")


def _reconstructions(options: Namespace) -> Any:
    case = _case(read_gallery(options.gallery), options.case)
    box = None if options.box is None else Box(*options.box)
    return reconstructions_figure(case, number=options.slice, box=box, error_range=options.error_range)


def _case(cases: tuple[KeptCase, ...], name: str | None) -> KeptCase:
    found = [case for case in cases if name in (None, case.facts.case)]
    if not found:
        known = ", ".join(case.facts.case for case in cases)
        raise InputError(f"The gallery keeps no case {name!r}; it keeps {known}.")
    return found[0]


def _gates(options: Namespace) -> Any:
    from somamba.evaluation.gates import read_gates  # imports torch, which the other figures do without

    return gates_figure([read_gates(folder) for folder in options.checkpoints])


DRAW: dict[str, Callable[[Namespace], Any]] = {
    "reconstructions": _reconstructions,
    "leakage": lambda options: leakage_figure(read_records(LeakageRecord, *options.files)),
    "spectra": lambda options: spectra_figure(read_streams(options.file)),
    "streams": lambda options: streams_figure(read_streams(options.file), units=options.units),
    "gates": _gates,
}
