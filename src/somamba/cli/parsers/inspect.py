"""What ``somamba inspect`` takes."""

from somamba.cli.arguments import CommandParser, command_parser, path, words

DESCRIPTION = """Say what a file with a scan is and how somamba understands it, or why it cannot be used and what to do.

Read are fastMRI and ISMRMRD HDF5 (.h5), NumPy (.npy, .npz), BART (.cfl with .hdr), and NIfTI images, from which
k-space is simulated. What was acquired is found from where k-space is zero.

examples:
  somamba inspect file1000001.h5
  somamba inspect kspace.npy --axes y,x,coils
  somamba inspect ksp.cfl --maps maps.cfl"""


def parser() -> CommandParser:
    """The options of the command."""
    parser = command_parser("inspect", DESCRIPTION)
    parser.add_argument("files", nargs="+", type=path, metavar="FILE")
    add_choices(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
    return parser


def add_choices(parser: CommandParser) -> None:
    """Add the options for what a file does not tell; the commands that open scans share them."""
    parser.add_argument(
        "--axes",
        type=words,
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
    parser.add_argument("--maps", type=path, help="coil maps in a file of their own, .npy or .cfl")
