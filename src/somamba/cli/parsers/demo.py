"""What ``somamba demo`` takes."""

from pathlib import Path

from somamba.cli.arguments import CommandParser, acceleration, adaptation_steps, threads
from somamba.cli.declared import WEIGHTS
from somamba.cli.places import output_folder, own_output_file

DESCRIPTION = """Reconstruct the real 13-coil scan that comes with somamba from a part of its samples, and compare the
result with the whole scan.

Columns of k-space are left out as by `somamba reconstruct --acceleration`, coil maps are estimated from what is left,
and every method gets the same samples and maps. At last a copy of the network is adapted to the scan by its own
samples, in a minute or two. Writes demo.png (extra: report) and demo.html, a page to flip between the images, their
errors and spectra.

examples:
  somamba demo
  somamba demo --acceleration 6 -o out --weights runs/brain_raw/best"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--acceleration", type=acceleration, default=4.0, help="all columns over those kept (default: 4)"
    )
    parser.add_argument(
        "--weights", default=WEIGHTS, help="by name, or the folder of a checkpoint (default: %(default)s)"
    )
    parser.add_argument(
        "--adapt",
        type=adaptation_steps,
        metavar="STEPS",
        default="auto",
        help="how long the network is adapted to the scan for the last image: auto, or a number of steps",
    )
    parser.add_argument("-o", "--output", type=_folder, default="demo", help="folder (default: demo)")
    parser.add_argument("--threads", type=threads, help="threads on the CPU")


def _folder(text: str) -> Path:
    """Read the name of the folder; files of the demo's names in it are replaced only if somamba wrote them."""
    folder = output_folder(text)
    for name in ("demo.png", "demo.html"):
        own_output_file(str(folder / name))
    return folder
