"""What ``somamba report`` takes."""

from somamba.cli.arguments import CommandParser, count, path, title
from somamba.cli.declared import REPORT_SLICES, REPORT_TITLE
from somamba.cli.places import own_output_file

DESCRIPTION = """Make one HTML file that opens from disk and asks the network for nothing.

What is given is recognised by what it holds, in any order:
  folder of a run or of a sweep        learning curves, recipe, rows of val.csv, steps and speed of a sweep
  CSV file of somamba evaluate         tables that sort, paired statistics
  CSV file of somamba leakage          HLeak, RLeak and eta, unit by unit
  CSV file of somamba cost             parameters, MACs, time and memory
  CSV file of somamba sweep            budget, steps and speed of its runs
  folder of somamba evaluate --keep    slice viewer: flip methods, error maps, k-space, zoom, window and level
  PNG picture                          a figure

Neither torch nor matplotlib is needed.

examples:
  somamba report results/*.csv weights/so_mamba_acdc_x4 -o report.html
  somamba evaluate runs/acdc_x4/best --dataset acdc --data data/acdc --split val --keep gallery --csv so_mamba.csv
  somamba report runs/acdc_x4 so_mamba.csv gallery -o report.html
  somamba report runs/acdc_cpu_x4_ownership leakage.csv -o ownership.html --title "Ownership ablation\""""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("sources", nargs="+", type=path, help="folders and files, see above")
    parser.add_argument(
        "-o", "--output", type=own_output_file, default="report.html", help="page (default: report.html)"
    )
    parser.add_argument("--title", type=title, default=REPORT_TITLE, help="title of the page (default: %(default)s)")
    parser.add_argument(
        "--slices",
        type=count,
        default=REPORT_SLICES,
        help="most slices of each kept case, evenly spread (default: %(default)s)",
    )
