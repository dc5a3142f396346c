"""``somamba table``: result files as a table like the paper's."""

from argparse import Namespace
from pathlib import Path

from somamba.cli.output import say
from somamba.cli.parsers.table import EFFICIENCY, LEAKAGE, SWEEP, parser
from somamba.report.render import FORMATS
from somamba.report.table import Table
from somamba.report.tables.efficiency import efficiency_table
from somamba.report.tables.leakage import leakage_table
from somamba.report.tables.scores import score_table
from somamba.report.tables.sweep import sweep_table
from somamba.results.cost import CostRecord, read_costs
from somamba.results.leakage import LeakageRecord, read_leakage
from somamba.results.record import holds
from somamba.results.scores import read_scores
from somamba.results.sweep import read_sweep


def main(arguments: list[str]) -> None:
    """Read the records, arrange them and print the table."""
    options = parser().parse_args(arguments)
    say(FORMATS[options.format](_table(options)), end="")


def _table(options: Namespace) -> Table:
    files: list[Path] = options.files
    if options.layout == SWEEP:
        return sweep_table([record for path in files for record in read_sweep(path)])
    # These two layouts show records of their own kind beside scores.
    own = {LEAKAGE: LeakageRecord, EFFICIENCY: CostRecord}.get(options.layout)
    first = [path for path in files if own is not None and holds(path, own)]
    scores = [record for path in files if path not in first for record in read_scores(path)]
    if options.layout == LEAKAGE:
        return leakage_table([record for path in first for record in read_leakage(path)], scores)
    if options.layout == EFFICIENCY:
        return efficiency_table([record for path in first for record in read_costs(path)], scores)
    return score_table(scores, layout=options.layout, metrics=options.metrics)
