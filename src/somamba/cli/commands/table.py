"""``somamba table``: result files as a table like the paper's."""

from argparse import Namespace
from pathlib import Path

from somamba.cli.output import say
from somamba.cli.parsers.table import EFFICIENCY, LEAKAGE, SWEEP
from somamba.report.render import FORMATS
from somamba.report.table import Table
from somamba.report.tables.efficiency import efficiency_table
from somamba.report.tables.leakage import leakage_table
from somamba.report.tables.scores import score_table
from somamba.report.tables.sweep import sweep_table
from somamba.results.cost import CostRecord
from somamba.results.leakage import LeakageRecord
from somamba.results.record import holds, read_records
from somamba.results.scores import ScoreRecord
from somamba.results.sweep import SweepRecord


def main(options: Namespace) -> None:
    """Read the records, arrange them and print the table."""
    say(FORMATS[options.format](_table(options)), end="")


def _table(options: Namespace) -> Table:
    files: list[Path] = options.files
    if options.layout == SWEEP:
        return sweep_table(read_records(SweepRecord, *files))
    # These two layouts show records of their own kind beside scores.
    own = {LEAKAGE: LeakageRecord, EFFICIENCY: CostRecord}.get(options.layout)
    first = [path for path in files if own is not None and holds(path, own)]
    scores = read_records(ScoreRecord, *(path for path in files if path not in first))
    if options.layout == LEAKAGE:
        return leakage_table(read_records(LeakageRecord, *first), scores)
    if options.layout == EFFICIENCY:
        return efficiency_table(read_records(CostRecord, *first), scores)
    return score_table(scores, layout=options.layout, metrics=options.metrics)
