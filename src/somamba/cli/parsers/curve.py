"""What ``somamba curve`` takes."""

from somamba.cli.arguments import CommandParser, path, real, title
from somamba.cli.places import own_output_file

DESCRIPTION = """Draw the training loss and the validation PSNR of one or several runs.

Works while a run is going on: it reads the journal that the run writes. --live shows one run in the terminal until it
stops: loss, validation, rate, gradient norm, time left, and the slice of RUN/validation.png where the terminal has the
colours. --logger passes a run on to TensorBoard, or to another program whose package offers a logger; with --live it
follows, without it passes on what is there.

examples:
  somamba curve runs/acdc_x4 -o curve.png
  somamba curve runs/so_mamba runs/unet --baseline 25.38 -o curves.svg
  somamba curve runs/acdc_x4 --live
  somamba curve runs/acdc_x4 --logger tensorboard"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("runs", nargs="+", type=path, help="folders that somamba train --output wrote")
    parser.add_argument(
        "-o", "--output", type=own_output_file, default="curve.png", help="picture (default: curve.png)"
    )
    parser.add_argument("--baseline", type=real(0, 1000), help="PSNR of the zero-filled images, as a line to beat")
    parser.add_argument("--title", type=title, default="", help="title above the picture")
    parser.add_argument("--live", action="store_true", help="show one run in the terminal until it stops")
    parser.add_argument(
        "--every", type=real(0, 3600), default=2.0, metavar="SECONDS", help="look so often with --live (default: 2)"
    )
    parser.add_argument(
        "--logger", action="append", default=[], metavar="LOGGER", help="tensorboard, or one of a package; repeatable"
    )
