"""What ``somamba leakage`` takes."""

from somamba.cli.arguments import CommandParser, real
from somamba.cli.declared import BACKENDS, CUTOFFS
from somamba.cli.parsers.measuring import add_measuring_options

DESCRIPTION = """Measure the two-level leakage of an SO-Mamba on one split of a dataset (Table 5 of the paper).

HLeak is the share of the energy of the scan's states beyond the radial cutoff r, RLeak that of the read-out before
the output projection, eta = RLeak / HLeak. Mean over the units and slices of a case, then over cases; eta is that of
the means. One row of the CSV file is one unit on one case at one cutoff.

examples:
  somamba leakage runs/acdc_x4/best --dataset acdc --data data/acdc --split val --limit-cases 2
  somamba leakage runs/fastmri_x8/best --dataset fastmri --data data/fastmri --split val --csv results/leakage.csv
  torchrun --nproc-per-node 2 -m somamba leakage runs/acdc_x4/best --dataset acdc --data data/acdc --cutoff 0.25 0.35"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    add_measuring_options(parser)
    parser.add_argument(
        "--cutoff", type=real(0, 1), nargs="+", default=list(CUTOFFS), metavar="r", help="default: 0.25 and 0.35"
    )
    parser.add_argument(
        "--radius", choices=("corner", "side"), default="corner", help="where rho is 1 (default: corner)"
    )
    parser.add_argument(
        "--backend",
        choices=("auto", *(name for name in BACKENDS if name != "fused")),
        default="auto",
        help="scan that supplies the states; it changes the time, not the numbers (default: auto)",
    )
