"""``somamba compare``: is one method better than another, over the same cases?"""

from argparse import Namespace

from somamba.cli.output import say
from somamba.report.render.markdown import markdown
from somamba.report.statistics import compare
from somamba.report.tables.comparison import comparison_table
from somamba.results.record import read_records
from somamba.results.scores import ScoreRecord


def main(options: Namespace) -> None:
    """Read the records, compare them and print the table."""
    records = read_records(ScoreRecord, *options.files)
    say(markdown(comparison_table(compare(records, metrics=options.metric, seed=options.seed))), end="")
