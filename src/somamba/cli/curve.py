"""``somamba curve``: the learning curves of one or several runs as a picture."""

from somamba.cli.output import say
from somamba.cli.parsers.curve import parser
from somamba.errors import InputError
from somamba.report.figures.curves import draw_curves
from somamba.report.sources import run_names
from somamba.results.journal import JOURNAL, read_journal


def main(arguments: list[str]) -> None:
    """Read journals, draw."""
    options = parser().parse_args(arguments)
    journals = {}
    for name, run in zip(run_names(options.runs), options.runs, strict=True):
        if not (path := run / JOURNAL).is_file():
            raise InputError(f"{run} holds no {JOURNAL}; name the folder of a run (somamba train --output).")
        journals[name] = read_journal(path)
    draw_curves(journals, options.output, baseline=options.baseline, title=options.title)
    say(f"wrote {options.output}")
