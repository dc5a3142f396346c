"""``somamba curve``: the learning curves of one or several runs as a picture, live in the terminal, or in a logger."""

from argparse import Namespace

from somamba.cli.output import say
from somamba.errors import InputError, UsageError
from somamba.report.figures.curves import draw_curves
from somamba.report.loggers import Loggers
from somamba.report.sources import run_names
from somamba.results.journal import JOURNAL, read_journal


def main(options: Namespace) -> None:
    """Read the journals; draw the curves, show them live, or pass the events on to loggers."""
    for run in options.runs:
        if not (run / JOURNAL).is_file():
            raise InputError(f"{run} holds no {JOURNAL}; name the folder of a run (somamba train --output).")
    if options.live or options.logger:
        follow(options)
        return
    journals = {
        name: read_journal(run / JOURNAL) for name, run in zip(run_names(options.runs), options.runs, strict=True)
    }
    draw_curves(journals, options.output, baseline=options.baseline, title=options.title)
    say(f"wrote {options.output}")


def follow(options: Namespace) -> None:
    """Show one run while it goes on, or pass on to loggers what its journal holds."""
    if len(options.runs) != 1:
        raise UsageError("--live and --logger take one run. See: somamba curve --help")
    (run,) = options.runs
    loggers = Loggers(options.logger, run)
    try:
        if options.live:
            from somamba.cli.live import watch  # It imports rich and pictures, which a plain curve does not need.

            watch(run, loggers, every=options.every)
            return
        for event in read_journal(run / JOURNAL):
            loggers.add(event)
    finally:
        loggers.close()
    say(f"passed {run / JOURNAL} on to {', '.join(options.logger)}")
