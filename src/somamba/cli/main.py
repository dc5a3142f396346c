"""The ``somamba`` command: a table of commands, each in a file of its own, imported only when it is called.

A command module has one function, ``main(arguments)``: it parses, calls the library and prints.
"""

import logging
import sys
from importlib import import_module
from typing import NamedTuple

from somamba.errors import SomambaError
from somamba.registry import Registry


class Command(NamedTuple):
    """Where a command lives and what it is for."""

    module: str
    summary: str


COMMANDS = Registry(
    "command",
    {
        "doctor": Command("somamba.cli.doctor", "versions, threads, and which scan backend runs and why"),
        "models": Command("somamba.cli.models", "the networks that can be built, with their size and cost"),
        "cost": Command("somamba.cli.cost", "parameters, multiply-accumulates, time and memory of networks"),
        "data": Command("somamba.cli.data", "check a dataset on disk, and draw one of its slices"),
        "demo": Command("somamba.cli.demo", "reconstruct the bundled real scan: a table, a picture, a page"),
        "inspect": Command("somamba.cli.inspect", "what a file with a scan is, and how it is understood"),
        "reconstruct": Command("somamba.cli.reconstruct", "images from undersampled scans, one file or thousands"),
        "train": Command("somamba.cli.train", "train a model as a recipe says; --resume goes on, --dry-run only tells"),
        "sweep": Command("somamba.cli.sweep", "train the runs of a grid under one budget; started again, it goes on"),
        "evaluate": Command("somamba.cli.evaluate", "PSNR, SSIM and NMSE of a model on one split of a dataset"),
        "leakage": Command("somamba.cli.leakage", "HLeak, RLeak and eta of an SO-Mamba, over all units and one by one"),
        "streams": Command("somamba.cli.streams", "record what the router lets into the state, and what not"),
        "figure": Command("somamba.cli.figure", "reconstructions, leakage, spectra and streams as pictures"),
        "curve": Command("somamba.cli.curve", "the learning curves of one or several runs as a picture"),
        "table": Command("somamba.cli.table", "result files as a table like the paper's: Markdown, LaTeX or CSV"),
        "compare": Command("somamba.cli.compare", "is one method better than another, over the same cases?"),
        "report": Command(
            "somamba.cli.report", "one HTML file: tables, slice viewer, curves, provenance; opens from disk"
        ),
    },
)


def usage() -> str:
    """The text of ``somamba --help``."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "SO-Mamba: unrolled MRI reconstruction with state ownership.",
            "",
            "usage: somamba COMMAND [options]      (somamba COMMAND --help explains each)",
            "",
            *lines,
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one command; an error of ours becomes one line on standard error and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    try:
        import_module(COMMANDS[arguments[0]].module).main(arguments[1:])
    except SomambaError as error:
        print(f"somamba: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("somamba: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
