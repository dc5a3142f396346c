"""What ``somamba data`` takes."""

from somamba.cli.arguments import CommandParser, acceleration, add_parts, path, whole
from somamba.cli.declared import MASKS
from somamba.cli.places import own_output_file
from somamba.data.catalog import DATASETS

DESCRIPTION = "Look at a dataset before training on it."
PARTS = {
    "check": ("read every case; say what is there, what is left out and why", "somamba data check acdc data/acdc"),
    "show": ("draw one slice: target, mask, zero-filled, error", "somamba data show acdc data/acdc --case patient001"),
}


def add_options(parser: CommandParser) -> None:
    """Add the options of the command, for both of its parts."""
    width = max(map(len, DATASETS))
    known = "\n".join(
        f"  {name:<{width}}  {entry.title}\n  {'':<{width}}  {entry.layout}" for name, entry in DATASETS.items()
    )
    parser.epilog = (
        f"datasets, and where their files are expected:\n{known}\n\n"
        "examples:\n"
        "  somamba data check acdc data/acdc\n"
        "  somamba data check fastmri data/fastmri --quick\n"
        "  somamba data show acdc data/acdc --case patient001 --acceleration 8 -o patient001.png"
    )
    parts = add_parts(parser, PARTS, required=True)
    for part in parts.values():
        part.add_argument("name", metavar="NAME", choices=list(DATASETS), help=f"one of {', '.join(DATASETS)}")
        part.add_argument("path", metavar="PATH", type=path, help="folder that holds the official archives, unpacked")
    parts["check"].add_argument("--quick", action="store_true", help="read headers only, no slices")
    show = parts["show"]
    show.add_argument("--case", required=True, metavar="ID", help="which case, such as patient001")
    show.add_argument("--slice", type=whole(0), metavar="N", help="which slice (default: the middle one)")
    show.add_argument("--acceleration", type=acceleration, default=4, metavar="R", help="nominal (default: 4)")
    show.add_argument("--protocol", choices=("magnitude", "raw"), default="magnitude", help="default: magnitude")
    show.add_argument("--mask", metavar="KIND", choices=MASKS, help="kind of mask (default: the dataset's)")
    show.add_argument(
        "-o", "--output", type=own_output_file, default="case.png", metavar="OUT.png", help="default: case.png"
    )
