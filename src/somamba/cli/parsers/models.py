"""What ``somamba models`` takes."""

from somamba.cli.arguments import CommandParser, image_size

DESCRIPTION = """List the networks that can be built by name.

With --cost every network runs once on an empty image, to count its multiply-accumulates (MACs);
`somamba cost --help` explains the columns.

examples:
  somamba models
  somamba models --cost --size 128"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--cost", action="store_true", help="count the MACs of each network as well")
    parser.add_argument("--size", type=image_size, default=(320, 320), help="image size for --cost (default: 320)")
