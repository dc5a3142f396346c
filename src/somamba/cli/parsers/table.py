"""What ``somamba table`` takes."""

from somamba.cli.arguments import CommandParser, path
from somamba.report.render import FORMATS
from somamba.report.tables.scores import LAYOUTS
from somamba.results.scores import METRICS

EFFICIENCY, LEAKAGE, SWEEP = "efficiency", "leakage", "sweep"

DESCRIPTION = """Print result files as a table like the paper's: mean and standard deviation over cases, best in bold.

Methods share a column only if they were measured on the same cases through the same masks. Layout leakage (Table 5)
takes files of `somamba leakage`; files of `somamba evaluate` among them add the PSNR. Layout sweep takes the summary
that `somamba sweep` writes: budget, steps reached, speed and scores of each run. Layout efficiency (Table 3) takes a
file of `somamba cost`; files of `somamba evaluate` among them add PSNR and SSIM.

examples:
  somamba table results/*.csv
  somamba table results/*.csv --format latex --layout blocks
  somamba table runs/acdc_cpu_x4_ownership/*/val.csv --layout ownership
  somamba table results/leakage/*.csv runs/acdc_cpu_x4_leakage/*/val.csv --layout leakage
  somamba table runs/acdc_cpu_x4_methods/acdc_cpu_x4_methods.csv --layout sweep
  somamba table results/cost/320.csv results/acdc_cpu_x4_methods/*/val.csv --layout efficiency
  somamba table results/*.csv --format csv --metrics psnr ssim nmse"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", type=path, help="CSV files of somamba evaluate, leakage, sweep or cost")
    parser.add_argument("--format", choices=list(FORMATS), default="markdown", help="default: markdown")
    parser.add_argument(
        "--layout",
        choices=[*LAYOUTS, LEAKAGE, SWEEP, EFFICIENCY],
        default="columns",
        help="accelerations as columns or blocks, routes ticked, leakage, runs of a sweep, or cost (default: columns)",
    )
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=["psnr", "ssim"], help="default: psnr ssim")
