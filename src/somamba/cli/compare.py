"""``somamba compare``: is one method better than another, over the same cases?"""

from somamba.cli.output import say
from somamba.cli.parsers.compare import parser
from somamba.evaluation.rows import read_rows
from somamba.report.statistics import compare, comparison_table


def main(arguments: list[str]) -> None:
    """Read rows, compare, print."""
    options = parser().parse_args(arguments)
    rows = [row for path in options.files for row in read_rows(path)]
    say(comparison_table(compare(rows, metrics=options.metric, seed=options.seed)), end="")
