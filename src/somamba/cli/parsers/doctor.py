"""What ``somamba doctor`` takes."""

from somamba.cli.arguments import CommandParser

DESCRIPTION = """Say what somamba found on this machine: versions, threads, vector instructions, optional parts,
and for CPU and GPU which scan backend runs, and why the others do not.

example:
  somamba doctor"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
