"""``somamba compare``: is one method better than another, over the same cases?"""

from somamba.cli.output import say
from somamba.cli.parsers.compare import parser
from somamba.report.render.markdown import markdown
from somamba.report.statistics import compare
from somamba.report.tables.comparison import comparison_table
from somamba.results.scores import read_scores


def main(arguments: list[str]) -> None:
    """Read the records, compare them and print the table."""
    options = parser().parse_args(arguments)
    records = [record for path in options.files for record in read_scores(path)]
    say(markdown(comparison_table(compare(records, metrics=options.metric, seed=options.seed))), end="")
