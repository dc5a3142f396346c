"""What ``somamba figure`` takes."""

from somamba.cli.arguments import CommandParser, path, real, whole
from somamba.cli.declared import ERROR_RANGE
from somamba.cli.places import own_output_file

DESCRIPTION = """Draw a figure from files; no network runs, and only gates need torch. The ending of -o decides the
format: .png, .pdf or .svg. Learning curves: somamba curve.

examples:
  somamba figure reconstructions gallery --case patient001 --slice 19 -o reconstructions.png
  somamba figure leakage results/leakage/so_mamba.csv results/leakage/without_outlet.csv -o leakage.pdf
  somamba figure spectra streams.npz -o spectra.svg
  somamba figure streams streams.npz --units 1 6 12 -o streams.png
  somamba figure gates runs/acdc_cpu_x4_adaptive/residency_channel_seed0/best -o gates.png"""


KINDS = {
    "reconstructions": "reconstructions of one slice and their errors",
    "leakage": "leakage of state and read-out, unit by unit",
    "spectra": "radial power spectra of L and G of every unit",
    "streams": "the carrier L and the evidence G of some units as pictures",
    "gates": "the gates of learned residency, by unit and channel",
}


def add_options(parser: CommandParser) -> None:
    """Add the options of the command, kind by kind."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    figures = {name: kinds.add_parser(name, help=words, description=f"Draw {words}.") for name, words in KINDS.items()}
    reconstructions, leakage, spectra, streams, gates = figures.values()
    reconstructions.add_argument("gallery", type=path, help="folder that somamba evaluate --keep wrote")
    reconstructions.add_argument("--case", help="which case (default: the first)")
    reconstructions.add_argument(
        "--slice", type=whole(0), metavar="N", help="which slice (default: median zero-filled PSNR)"
    )
    reconstructions.add_argument(
        "--box", type=whole(0), nargs=3, metavar=("Y", "X", "SIZE"), help="part to enlarge, in pixels (default: chosen)"
    )
    reconstructions.add_argument(
        "--error-range", type=real(1e-6, 1e6), default=ERROR_RANGE, help="top of the colours (default: %(default)s)"
    )
    leakage.add_argument("files", nargs="+", type=path, help="CSV files written by somamba leakage")
    for drawn in (spectra, streams):
        drawn.add_argument("file", type=path, help="file written by somamba streams")
    streams.add_argument("--units", type=whole(1), nargs="+", metavar="U", help="which, counted from 1 (default: six)")
    gates.add_argument("checkpoints", nargs="+", type=path, help="checkpoint folders, such as runs/x/best")
    for figure in figures.values():
        figure.add_argument(
            "-o", "--output", type=own_output_file, required=True, metavar="FILE", help=".png, .pdf or .svg"
        )
