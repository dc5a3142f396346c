"""``somamba table``: result files as a table like the paper's."""

from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.errors import InputError
from somamba.evaluation.leakage_rows import LeakageRow, read_leakage
from somamba.evaluation.rows import METRICS, holds, read_rows
from somamba.evaluation.sweep_rows import read_sweep
from somamba.report.formats import FORMATS
from somamba.report.leakage_table import LEAKAGE_FORMATS, build_leakage_table
from somamba.report.tables import LAYOUTS, build_table
from somamba.report.trainings import trainings_table

LEAKAGE, SWEEP = "leakage", "sweep"
DESCRIPTION = """Print result files as a table like the paper's: mean and standard deviation over cases, best in bold.

Methods share a column only if they were measured on the same cases through the same masks. Layout leakage (Table 5)
takes files of `somamba leakage`; files of `somamba evaluate` among them add the PSNR. Layout sweep takes the summary
that `somamba sweep` writes: budget, steps reached, speed and scores of each run.

examples:
  somamba table results/*.csv
  somamba table results/*.csv --format latex --layout blocks
  somamba table runs/acdc_cpu_x4_ownership/*/val.csv --layout ownership
  somamba table results/leakage/*.csv runs/acdc_cpu_x4_leakage/*/val.csv --layout leakage
  somamba table runs/acdc_cpu_x4_methods/acdc_cpu_x4_methods.csv --layout sweep
  somamba table results/*.csv --format csv --metrics psnr ssim nmse"""


def main(arguments: list[str]) -> None:
    """Read rows, arrange them, print."""
    parser = teaching_parser("table", DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, help="CSV files written by somamba evaluate, leakage or sweep")
    parser.add_argument("--format", choices=list(FORMATS), default="markdown", help="by default markdown")
    parser.add_argument(
        "--layout",
        choices=[*LAYOUTS, LEAKAGE, SWEEP],
        default="columns",
        help="accelerations as columns or as blocks, routes ticked, leakage, or runs of a sweep",
    )
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=["psnr", "ssim"], help="by default psnr ssim")
    options = parser.parse_args(arguments)
    if options.layout == LEAKAGE:
        leaked = [path for path in options.files if holds(path, LeakageRow)]
        scored = [row for path in options.files if path not in leaked for row in read_rows(path)]
        found = build_leakage_table([row for path in leaked for row in read_leakage(path)], scored)
        print(LEAKAGE_FORMATS[options.format](found), end="")
        return
    if options.layout == SWEEP:
        if options.format != "markdown":
            raise InputError("Layout sweep is written in Markdown only; its files are CSV already.")
        print(trainings_table([row for path in options.files for row in read_sweep(path)]), end="")
        return
    rows = [row for path in options.files for row in read_rows(path)]
    print(FORMATS[options.format](build_table(rows, layout=options.layout, metrics=options.metrics)), end="")
