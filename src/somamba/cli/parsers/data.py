"""What ``somamba data`` takes."""

from somamba.cli.arguments import CommandParser, acceleration, path, whole
from somamba.cli.declared import MASKS
from somamba.cli.places import own_output_file
from somamba.data.catalog import DATASETS

COMMANDS = {
    "check": ("read every case; say what is there, what is left out and why", "somamba data check acdc data/acdc"),
    "show": ("draw one slice: target, mask, zero-filled, error", "somamba data show acdc data/acdc --case patient001"),
}


def parser() -> CommandParser:
    """The options of the command, for both of its parts."""
    width = max(map(len, DATASETS))
    known = "\n".join(
        f"  {name:<{width}}  {entry.title}\n  {'':<{width}}  {entry.layout}" for name, entry in DATASETS.items()
    )
    parser = CommandParser(
        prog="somamba data",
        description="Look at a dataset before training on it.",
        epilog=f"datasets, and where their files are expected:\n{known}\n\n"
        "examples:\n"
        "  somamba data check acdc data/acdc\n"
        "  somamba data check fastmri data/fastmri --quick\n"
        "  somamba data show acdc data/acdc --case patient001 --acceleration 8 -o patient001.png",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, (summary, example) in COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        one = commands.add_parser(command, help=summary, description=description, epilog=f"example:\n  {example}")
        one.add_argument("name", metavar="NAME", choices=list(DATASETS), help=f"one of {', '.join(DATASETS)}")
        one.add_argument("path", metavar="PATH", type=path, help="folder that holds the official archives, unpacked")
        _ADD[command](one)
    return parser


def _add_check(parser: CommandParser) -> None:
    parser.add_argument("--quick", action="store_true", help="read headers only, no slices")


def _add_show(parser: CommandParser) -> None:
    parser.add_argument("--case", required=True, metavar="ID", help="which case, such as patient001")
    parser.add_argument("--slice", type=whole(0), metavar="N", help="which slice (default: the middle one)")
    parser.add_argument("--acceleration", type=acceleration, default=4, metavar="R", help="nominal (default: 4)")
    parser.add_argument("--protocol", choices=("magnitude", "raw"), default="magnitude", help="default: magnitude")
    parser.add_argument("--mask", metavar="KIND", choices=MASKS, help="kind of mask (default: the dataset's)")
    parser.add_argument(
        "-o", "--output", type=own_output_file, default="case.png", metavar="OUT.png", help="default: case.png"
    )


_ADD = {"check": _add_check, "show": _add_show}
