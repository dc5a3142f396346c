"""What ``somamba inspect`` takes."""

from somamba.cli.arguments import CommandParser, add_scan_choices, path

DESCRIPTION = """Say what a file with a scan is and how somamba understands it, or why it cannot be used and what to do.

Read are fastMRI and ISMRMRD HDF5 (.h5), NumPy (.npy, .npz), BART (.cfl with .hdr), and NIfTI images, from which
k-space is simulated. What was acquired is found from where k-space is zero.

examples:
  somamba inspect file1000001.h5
  somamba inspect kspace.npy --axes y,x,coils
  somamba inspect ksp.cfl --maps maps.cfl"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", type=path, metavar="FILE")
    add_scan_choices(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
