"""What ``somamba weights`` takes."""

from somamba.cli.arguments import CommandParser, add_parts, path

DESCRIPTION = """List the weights that are at hand: those that come with somamba, and those that came from a model hub.

Everywhere in somamba, weights are named in one of three ways: brain_raw (bundled), runs/x/best (the folder
of a checkpoint), or hf:owner/name@revision (on a model hub; fetched once, compared with its SHA-256, and kept
in the cache). HF_ENDPOINT names another hub or a mirror, HF_HUB_OFFLINE=1 leaves the network alone."""
PARTS = {
    "verify": ("compare every file with its SHA-256, and load the weights", "somamba weights verify"),
    "show": ("print the card: data, training, results, limits, licence", "somamba weights show brain_raw"),
    "export": ("make a folder to upload to a hub", "somamba weights export brain_raw upload/brain_raw"),
}
NAME = "bundled weights by name, the folder of a checkpoint, or hf:owner/name@revision"


def add_options(parser: CommandParser) -> None:
    """Add the options of the command, for all of its parts."""
    examples = "\n".join(f"  {example}" for _, example in PARTS.values())
    parser.epilog = f"examples:\n  somamba weights\n{examples}"
    parser.add_argument("--json", action="store_true", help="print the list as one JSON document, for programs")
    verify, show, export = add_parts(parser, PARTS, required=False).values()
    verify.add_argument("names", metavar="NAME", nargs="*", help=f"{NAME} (default: all that are listed)")
    show.add_argument("name", metavar="NAME", help=NAME)
    export.add_argument("name", metavar="NAME", help=NAME)
    export.add_argument("folder", metavar="FOLDER", type=path, help="the folder to make; it must not be there")
