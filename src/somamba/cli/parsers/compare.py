"""What ``somamba compare`` takes."""

from somamba.cli.arguments import CommandParser, path, seed
from somamba.results.scores import METRICS

DESCRIPTION = """Compare the method of the first file with that of each other file, case by case.

Printed are the mean difference (first minus other) with the 95 % interval of a bootstrap over cases, the two-sided p of
Wilcoxon's signed-rank test, and that p adjusted by Holm to all lines of the table. The files must have been measured on
the same cases through the same masks.

examples:
  somamba compare so_mamba.csv unet.csv hifi_mamba.csv
  somamba compare runs/x/so_mamba/val.csv runs/x/content_residency/val.csv --metric psnr ssim"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", type=path, help="CSV files written by somamba evaluate or sweep")
    parser.add_argument(
        "--metric", nargs="+", choices=METRICS, default=["psnr"], help="metrics to compare (default: psnr)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="seed of the bootstrap (default: 0)")
