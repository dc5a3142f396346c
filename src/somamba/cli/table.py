"""``somamba table``: result files as a table like the paper's."""

from somamba.cli.output import say
from somamba.cli.parsers.table import LEAKAGE, SWEEP, parser
from somamba.errors import InputError
from somamba.evaluation.leakage_rows import LeakageRow, read_leakage
from somamba.evaluation.rows import holds, read_rows
from somamba.evaluation.sweep_rows import read_sweep
from somamba.report.formats import FORMATS
from somamba.report.leakage_table import LEAKAGE_FORMATS, build_leakage_table
from somamba.report.tables import build_table
from somamba.report.trainings import trainings_table


def main(arguments: list[str]) -> None:
    """Read rows, arrange them, print."""
    options = parser().parse_args(arguments)
    if options.layout == LEAKAGE:
        leaked = [path for path in options.files if holds(path, LeakageRow)]
        scored = [row for path in options.files if path not in leaked for row in read_rows(path)]
        found = build_leakage_table([row for path in leaked for row in read_leakage(path)], scored)
        say(LEAKAGE_FORMATS[options.format](found), end="")
        return
    if options.layout == SWEEP:
        if options.format != "markdown":
            raise InputError("Layout sweep is written in Markdown only; its files are CSV already.")
        say(trainings_table([row for path in options.files for row in read_sweep(path)]), end="")
        return
    rows = [row for path in options.files for row in read_rows(path)]
    say(FORMATS[options.format](build_table(rows, layout=options.layout, metrics=options.metrics)), end="")
