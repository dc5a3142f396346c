"""What ``somamba cost`` takes."""

from argparse import BooleanOptionalAction

from somamba.cli.arguments import CommandParser, count, image_size, path, threads
from somamba.cli.places import own_output_file

DESCRIPTION = """Count the parameters and the multiply-accumulates (MACs) of one forward pass (Table 3 of the paper).

"FLOPs" means different things in different papers, so there are several columns:
  module MACs          as the SO-Mamba paper counts: convolutions, linear layers, norms and pools
  FLOPs in the paper   what its Table 3 prints, at 320x320
  all MACs             every matrix product and convolution that runs, layer or not
  scan + FFT           the state-space recurrence, which no counter sees, and 5 N log2 N operations for an FFT of N
                       points, two to a MAC; both by formula
Beside them the seconds and the memory of one inference, measured in this run on this machine: with --all unless
--no-measure says otherwise (at 320x320 minutes, most of them for the transformers and LMO), else with --measure.

examples:
  somamba cost so_mamba hifi_mamba --size 256x218
  somamba cost --all --size 320
  somamba cost --all --size 320 --no-measure
  somamba cost so_mamba hifi_mamba --measure --results results/*.csv --csv cost.csv"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("models", nargs="*", metavar="NAME", help="names from `somamba models`")
    parser.add_argument("--all", action="store_true", help="every network")
    parser.add_argument("--size", type=image_size, default=(320, 320), help="image size, 320 or 256x218 (default: 320)")
    parser.add_argument("--measure", action=BooleanOptionalAction, help="measure seconds and memory as well")
    parser.add_argument("--repeats", type=count, default=3, help="repeats of the measurement, best counts (default: 3)")
    parser.add_argument("--threads", type=threads, help="threads on the CPU")
    parser.add_argument("--results", nargs="+", type=path, default=[], metavar="CSV", help="adds PSNR and SSIM")
    parser.add_argument("--csv", type=own_output_file, help="write the rows to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
