"""What ``somamba evaluate`` takes."""

from somamba.cli.arguments import CommandParser, count, title
from somamba.cli.declared import GALLERY_CASES
from somamba.cli.parsers.measuring import add_measuring_options
from somamba.cli.places import output_folder

DESCRIPTION = """Measure a model on one split of a dataset: PSNR, SSIM and NMSE of every slice, their mean for a case,
then mean and standard deviation over cases.

PSNR and SSIM are scikit-image's, with the largest value of the target as data range and SSIM's default window (7x7
uniform, sample covariance). In protocol magnitude the reconstruction is cut to [0, 1] first.

With --keep the images of the first cases go to a folder, a gallery, from which `somamba figure` and `somamba report`
draw. Evaluate several methods with the same folder to compare them.

examples:
  somamba evaluate zero_filled --dataset acdc --data data/acdc --split val --acceleration 8
  somamba evaluate runs/acdc_x4/best --dataset acdc --data data/acdc --csv results/so_mamba_acdc_x4.csv
  somamba evaluate weights/so_mamba_acdc_x4 --dataset acdc --data data/acdc --split val --keep gallery
  torchrun --nproc-per-node 2 -m somamba evaluate runs/acdc_x4/best --dataset acdc --data data/acdc"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    add_measuring_options(parser)
    parser.add_argument("--batch-size", type=count, default=1, help="slices computed together (default: 1)")
    parser.add_argument(
        "--keep", type=output_folder, metavar="FOLDER", help="keep the images of the first cases in a gallery"
    )
    parser.add_argument(
        "--keep-cases", type=count, default=GALLERY_CASES, metavar="N", help="how many (default: %(default)s)"
    )
    parser.add_argument("--label", type=title, help="how the gallery calls the method (default: the name of the model)")
    parser.add_argument("--json", action="store_true", help="print one JSON document, for programs")
