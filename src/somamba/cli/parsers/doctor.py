"""What ``somamba doctor`` takes."""

from somamba.cli.arguments import CommandParser, command_parser

DESCRIPTION = """Say what somamba found on this machine: versions, threads, vector instructions, optional parts,
and for CPU and GPU which scan backend runs, and why the others do not.

example:
  somamba doctor"""


def parser() -> CommandParser:
    """The options of the command."""
    parser = command_parser("doctor", DESCRIPTION)
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
    return parser
