"""``somamba inspect``: what a user's file is, and how it was understood."""

import argparse
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from somamba.cli.arguments import teaching_parser
from somamba.errors import DataError, SomambaError
from somamba.inference.raw.describe import describe
from somamba.inference.raw.opening import open_raw_scan
from somamba.inference.raw.raw_scan import RawScan

DESCRIPTION = """Say what a file with a scan is and how somamba understands it, or why it cannot be used and what to do.

Read are fastMRI and ISMRMRD HDF5 (.h5), NumPy (.npy, .npz), BART (.cfl with .hdr), and NIfTI images, from which
k-space is simulated. What was acquired is found from where k-space is zero.

examples:
  somamba inspect file1000001.h5
  somamba inspect kspace.npy --axes y,x,coils
  somamba inspect ksp.cfl --maps maps.cfl"""


def main(arguments: list[str]) -> None:
    """Parse, open every file, print what was understood."""
    parser = teaching_parser("inspect", DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    add_choices(parser)
    options = parser.parse_args(arguments)
    console = Console()
    failures: list[SomambaError] = []
    for path in options.files:
        try:
            scan = open_raw_scan(path, axes=options.axes, centred=options.centred, maps=options.maps)
            console.print(_table(scan, describe(scan)))
        except SomambaError as error:
            failures.append(error)
            if len(options.files) > 1:
                console.print(f"[red]cannot be used:[/red] {escape(str(error))}")
    if len(options.files) == 1 and failures:
        raise failures[0]
    if failures:
        raise DataError(f"{len(failures)} of {len(options.files)} files cannot be used.")


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Options for what a file does not tell; shared by the commands that open scans."""
    parser.add_argument(
        "--axes",
        type=lambda text: tuple(word.strip() for word in text.split(",")),
        help="axes of a NumPy array in their order, from slices, coils, y, x (default: by their number)",
    )
    centring = parser.add_mutually_exclusive_group()
    centring.add_argument(
        "--centred",
        dest="centred",
        action="store_true",
        default=None,
        help="zero frequency and object are in the middle (default: found by where the energy is)",
    )
    centring.add_argument(
        "--uncentred", dest="centred", action="store_false", help="the zero frequency is the first sample of k-space"
    )
    parser.add_argument("--maps", type=Path, help="coil maps in a file of their own, .npy or .cfl")


def _table(scan: RawScan, facts: dict[str, str]) -> Table:
    table = Table(
        show_header=False,
        title=escape(str(scan.path)),
        caption="\n".join(map(escape, scan.notes)),
        caption_justify="left",
    )
    table.add_column(no_wrap=True)
    table.add_column()
    for name, words in facts.items():
        table.add_row(name, escape(words))
    return table
