"""What ``somamba streams`` takes."""

from somamba.cli.arguments import CommandParser, whole
from somamba.cli.parsers.measuring import add_model_options
from somamba.cli.places import own_output_file

DESCRIPTION = """Record what the router of every unit makes of one slice: the carrier L, which the state may keep, and
the evidence G, which it may not. The file holds pictures and radial power spectra; `somamba figure streams` and
`somamba figure spectra` draw it, without torch.

examples:
  somamba streams weights/so_mamba_acdc_x4 --dataset acdc --data data/acdc --split val -o streams.npz
  somamba streams runs/acdc_x4/best --dataset acdc --data data/acdc --case patient101 --slice 4 -o streams.npz
  somamba figure streams streams.npz -o streams.png"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    add_model_options(parser)
    parser.add_argument("--case", help="which case (default: the first of the split)")
    parser.add_argument(
        "--slice", type=whole(0), help="which slice, by its number in the case (default: the middle one)"
    )
    parser.add_argument("-o", "--output", type=own_output_file, default="streams.npz", help="default: streams.npz")
