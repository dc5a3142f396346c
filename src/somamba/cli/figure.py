"""``somamba figure KIND``: the paper's pictures, drawn from files that other commands wrote."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from somamba.cli.arguments import teaching_parser
from somamba.errors import InputError
from somamba.evaluation.gallery_files import KeptCase, read_gallery
from somamba.evaluation.leakage_rows import read_leakage
from somamba.evaluation.stream_files import read_streams
from somamba.report.figures.canvas import save_figure
from somamba.report.figures.gates import gates_figure
from somamba.report.figures.leakage import leakage_figure
from somamba.report.figures.reconstructions import ERROR_RANGE, Box, reconstructions_figure
from somamba.report.figures.streams import spectra_figure, streams_figure

DESCRIPTION = """Draw a figure from files; no network runs, and only gates need torch. The ending of -o decides the
format: .png, .pdf or .svg. Learning curves: somamba curve.

examples:
  somamba figure reconstructions gallery --case patient001 --slice 19 -o reconstructions.png
  somamba figure leakage results/leakage/so_mamba.csv results/leakage/without_outlet.csv -o leakage.pdf
  somamba figure spectra streams.npz -o spectra.svg
  somamba figure streams streams.npz --units 1 6 12 -o streams.png
  somamba figure gates runs/acdc_cpu_x4_adaptive/residency_channel_seed0/best -o gates.png"""


class Kind(NamedTuple):
    """One kind of figure."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    draw: Callable[[argparse.Namespace], Any]


def main(arguments: list[str]) -> None:
    """Parse, draw, write."""
    parser = teaching_parser("figure", DESCRIPTION)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, kind in KINDS.items():
        one = kinds.add_parser(name, help=kind.summary, description=f"{kind.summary[0].upper()}{kind.summary[1:]}.")
        kind.add_options(one)
        one.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".png, .pdf or .svg")
    options = parser.parse_args(arguments)
    save_figure(KINDS[options.kind].draw(options), options.output)
    print(f"wrote {options.output}")


def _reconstruction_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gallery", type=Path, help="folder that somamba evaluate --keep wrote")
    parser.add_argument("--case", help="which case; by default the first")
    parser.add_argument("--slice", type=int, metavar="N", help="by default that of median zero-filled PSNR")
    parser.add_argument(
        "--box", type=int, nargs=3, metavar=("Y", "X", "SIZE"), help="part to enlarge, in pixels; by default chosen"
    )
    parser.add_argument(
        "--error-range", type=float, default=ERROR_RANGE, help=f"top of the colour range (default: {ERROR_RANGE})"
    )


def _reconstructions(options: argparse.Namespace) -> Any:
    case = _case(read_gallery(options.gallery), options.case)
    box = None if options.box is None else Box(*options.box)
    return reconstructions_figure(case, number=options.slice, box=box, error_range=options.error_range)


def _case(cases: tuple[KeptCase, ...], name: str | None) -> KeptCase:
    found = [case for case in cases if name in (None, case.facts.case)]
    if not found:
        known = ", ".join(case.facts.case for case in cases)
        raise InputError(f"The gallery keeps no case {name!r}; it keeps {known}.")
    return found[0]


def _leakage_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, help="CSV files written by somamba leakage")


def _leakage(options: argparse.Namespace) -> Any:
    return leakage_figure([row for path in options.files for row in read_leakage(path)])


def _spectra_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="file written by somamba streams")


def _streams_options(parser: argparse.ArgumentParser) -> None:
    _spectra_options(parser)
    parser.add_argument("--units", type=int, nargs="+", metavar="U", help="which, counted from 1; by default six")


def _gates_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoints", nargs="+", type=Path, help="checkpoint folders, such as runs/x/best")


def _gates(options: argparse.Namespace) -> Any:
    from somamba.evaluation.gates import read_gates  # imports torch, which the other figures do without

    return gates_figure([read_gates(folder) for folder in options.checkpoints])


KINDS = {
    "reconstructions": Kind("reconstructions of one slice and their errors", _reconstruction_options, _reconstructions),
    "leakage": Kind("leakage of state and read-out, unit by unit", _leakage_options, _leakage),
    "spectra": Kind(
        "radial power spectra of L and G of every unit",
        _spectra_options,
        lambda options: spectra_figure(read_streams(options.file)),
    ),
    "streams": Kind(
        "the carrier L and the evidence G of some units as pictures",
        _streams_options,
        lambda options: streams_figure(read_streams(options.file), units=options.units),
    ),
    "gates": Kind("the gates of learned residency, by unit and channel", _gates_options, _gates),
}
