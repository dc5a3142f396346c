"""The ``somamba`` command: a table of commands.

``somamba.cli.parsers.NAME`` says what a command takes; it is imported first and needs no torch, so that help and
refusals come at once. ``somamba.cli.commands.NAME`` has one function, ``main(options)``, which takes what was parsed,
calls the library and prints.
"""

import sys
from importlib import import_module

from somamba.cli.arguments import CommandParser, RecipeParser
from somamba.cli.output import CLOSED_PIPE, complain, discard_output, prepared_streams, say
from somamba.errors import SomambaError, UsageError
from somamba.registry import Registry, did_you_mean

COMMANDS = Registry(
    "command",
    {
        "doctor": "versions, threads, and which scan backend runs and why",
        "models": "the networks that can be built, with their size and cost",
        "cost": "parameters, multiply-accumulates, time and memory of networks",
        "data": "check a dataset on disk, and draw one of its slices",
        "demo": "reconstruct the bundled real scan: a table, a picture, a page",
        "inspect": "what a file with a scan is, and how it is understood",
        "reconstruct": "images from undersampled scans, one file or thousands",
        "train": "train a model as a recipe says; --resume goes on, --dry-run only tells",
        "sweep": "train the runs of a grid under one budget; started again, it goes on",
        "weights": "list weights, verify them, print their cards, export them for a hub",
        "evaluate": "PSNR, SSIM and NMSE of a model on one split of a dataset",
        "leakage": "HLeak, RLeak and eta of an SO-Mamba, over all units and one by one",
        "streams": "record what the router lets into the state, and what not",
        "figure": "reconstructions, leakage, spectra and streams as pictures",
        "curve": "the learning curves of one or several runs as a picture",
        "table": "result files as a table like the paper's: Markdown, LaTeX or CSV",
        "compare": "is one method better than another, over the same cases?",
        "report": "one HTML file: tables, slice viewer, curves, provenance; opens from disk",
        "completion": "a script with which bash, zsh or fish complete commands and options",
    },
)


EXIT_CODES = """exit codes:
  0    done
  2    refused: bad arguments, unusable input, or a part that failed; one line on standard error says which
  75   a training or sweep met its time limit and can be resumed
  130  interrupted by Ctrl-C; 128 + N after signal N, and 141 if the reader of the output has left
  1    a defect of somamba: please report the traceback"""


def usage() -> str:
    """The text of ``somamba --help``."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "SO-Mamba: unrolled MRI reconstruction with state ownership.",
            "",
            "usage: somamba COMMAND [options]      (somamba COMMAND --help explains each; somamba --version)",
            "",
            *lines,
            "",
            EXIT_CODES,
        ]
    )


def parser_of(command: str) -> CommandParser:
    """What a command takes."""
    _ = COMMANDS[command]
    module = import_module(f"somamba.cli.parsers.{command}")
    kind = RecipeParser if command in ("train", "sweep") else CommandParser
    parser = kind(prog=f"somamba {command}", description=module.DESCRIPTION)
    module.add_options(parser)
    return parser


def run_command(command: str, arguments: list[str]) -> None:
    """Run one command; arguments that cannot be understood are refused before it is imported."""
    options = parser_of(command).parse_args(arguments)
    import_module(f"somamba.cli.commands.{command}").main(options)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; an error of ours becomes one line on standard error and exit code 2."""
    try:
        with prepared_streams():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        discard_output()
        return CLOSED_PIPE


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        say(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        say(f"somamba {_version()}")
        return 0
    try:
        if arguments[0].startswith("-"):
            hint = did_you_mean(arguments[0], ("--help", "--version"))
            raise UsageError(f"There is no option {arguments[0]}.{hint} See: somamba --help")
        run_command(arguments[0], arguments[1:])
    except SomambaError as error:
        complain(str(error))
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        return 2
    except MemoryError:
        complain(
            "This machine has not enough memory for what was asked. Ask for less: smaller images, fewer at a time."
        )
        return 2
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    return 0


def _version() -> str:
    from importlib.metadata import version  # 20 ms that only this option needs

    return version("somamba")


if __name__ == "__main__":
    sys.exit(main())
