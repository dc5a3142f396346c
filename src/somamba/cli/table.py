"""``somamba table``: result files as a table like the paper's."""

from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.evaluation.rows import METRICS, read_rows
from somamba.report.formats import FORMATS
from somamba.report.tables import LAYOUTS, build_table

DESCRIPTION = """Print result files as a table like the paper's: mean and standard deviation over cases, best in bold.

Methods share a column only if they were measured on the same cases through the same masks.

examples:
  somamba table results/*.csv
  somamba table results/*.csv --format latex --layout blocks
  somamba table runs/acdc_cpu_x4_ownership/*/val.csv --layout ownership
  somamba table results/*.csv --format csv --metrics psnr ssim nmse"""


def main(arguments: list[str]) -> None:
    """Read rows, arrange them, print."""
    parser = teaching_parser("table", DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, help="CSV files written by somamba evaluate")
    parser.add_argument("--format", choices=list(FORMATS), default="markdown", help="by default markdown")
    parser.add_argument(
        "--layout", choices=LAYOUTS, default="columns", help="accelerations as columns or as blocks, or routes ticked"
    )
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=["psnr", "ssim"], help="by default psnr ssim")
    options = parser.parse_args(arguments)
    rows = [row for path in options.files for row in read_rows(path)]
    print(FORMATS[options.format](build_table(rows, layout=options.layout, metrics=options.metrics)), end="")
