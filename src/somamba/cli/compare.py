"""``somamba compare``: is one method better than another, over the same cases?"""

from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.evaluation.rows import METRICS, read_rows
from somamba.report.statistics import compare, comparison_table

DESCRIPTION = """Compare the method of the first file with that of each other file, case by case.

Printed are the mean difference (first minus other) with the 95 % interval of a bootstrap over cases, the two-sided p of
Wilcoxon's signed-rank test, and that p adjusted by Holm to all lines of the table. The files must have been measured on
the same cases through the same masks.

examples:
  somamba compare so_mamba.csv unet.csv hifi_mamba.csv
  somamba compare runs/x/so_mamba/val.csv runs/x/content_residency/val.csv --metric psnr ssim"""


def main(arguments: list[str]) -> None:
    """Read rows, compare, print."""
    parser = teaching_parser("compare", DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, help="CSV files written by somamba evaluate or sweep")
    parser.add_argument("--metric", nargs="+", choices=METRICS, default=["psnr"], help="by default psnr")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    options = parser.parse_args(arguments)
    rows = [row for path in options.files for row in read_rows(path)]
    print(comparison_table(compare(rows, metrics=options.metric, seed=options.seed)), end="")
