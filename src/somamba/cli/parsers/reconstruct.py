"""What ``somamba reconstruct`` takes."""

import re
from argparse import ArgumentTypeError

from somamba.cli.arguments import (
    CommandParser,
    acceleration,
    adaptation_steps,
    add_scan_choices,
    path,
    seed,
    threads,
    whole,
)
from somamba.cli.declared import ENGINES, MASKS, MOST_COILS, WEIGHTS, WRITERS
from somamba.cli.places import output_folder

DESCRIPTION = """Reconstruct undersampled scans: fastMRI and ISMRMRD HDF5 (.h5), NumPy (.npy, .npz), BART (.cfl with
.hdr), and NIfTI images, from which k-space is simulated. somamba inspect FILE says how a file is understood.

What was acquired is found from where k-space is zero; coils are prewhitened if the file has a noise scan; more than
12 coils are compressed; coil maps are estimated (ESPIRiT) unless they are given; slices are read and reconstructed one
at a time. Behind the network a last step makes the image sparse in wavelets, as far as samples that were held out
confirm it (--no-refinement leaves it out). Results say inside how they were made. Of several files, those whose result
is there and was made from the same scan with the same weights and options are skipped, and a bad one does not stop the
others. With --acceleration a fully sampled scan is undersampled first, and PSNR and SSIM against the full image are
given for the network and for zero-filling; the full image is merged by the same coil maps.
Exit code: 0 when all is there, 2 when anything failed.

examples:
  somamba reconstruct scan.h5 -o scan_reconstructed.nii.gz
  somamba reconstruct full.npy -o full_x4.png --acceleration 4
  somamba reconstruct ksp.cfl -o image.h5 --maps maps.cfl --weights runs/x/best
  somamba reconstruct scan.h5 -o scan_adapted.png --adapt auto
  somamba reconstruct scans/ -o images/ --format h5 --format png
  somamba reconstruct scan.h5 -o series --format dcm --template one_of_the_scanner.dcm
  somamba reconstruct scans/*.h5 -o images/ --shard $SLURM_ARRAY_TASK_ID/100      (with sbatch --array=1-100)"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="scans, patterns such as 'scans/*.h5', or folders")
    parser.add_argument("-o", "--output", required=True, type=path, help="a file, for one scan, or a folder")
    parser.add_argument(
        "--weights",
        default=WEIGHTS,
        help="bundled weights by name, the folder of a checkpoint, hf:owner/name@revision on a model hub, l1_wavelet, "
        "cg_sense or zero_filled (default: %(default)s)",
    )
    parser.add_argument("--format", action="append", choices=WRITERS, help="in a folder; may be repeated (default: h5)")
    add_scan_choices(parser)
    parser.add_argument(
        "--acceleration", type=acceleration, metavar="R", help="undersample a fully sampled scan, and compare"
    )
    parser.add_old_name("--accelerate", "--acceleration")
    parser.add_argument("--mask", choices=MASKS, help="how --acceleration samples (default: equispaced columns)")
    parser.add_argument("--calibration", type=whole(0), metavar="LINES", help="columns it keeps around the centre")
    parser.add_argument("--seed", type=seed, help="seed of a random mask (default: 0)")
    parser.add_argument(
        "--no-prewhitening", action="store_true", help="leave the coils of a file with a noise scan alone"
    )
    parser.add_argument(
        "--coils",
        type=whole(1),
        metavar="N",
        default=MOST_COILS,
        help="compress more coils to N (default: %(default)s)",
    )
    parser.add_argument(
        "--no-refinement", action="store_true", help="leave the image as the network has it, without the last step"
    )
    parser.add_argument(
        "--adapt",
        type=adaptation_steps,
        metavar="STEPS",
        help="adapt a copy of the network to each scan's own samples first: auto, or a number of steps",
    )
    parser.add_argument(
        "--save-adapted", type=output_folder, metavar="FOLDER", help="keep the adapted checkpoint, of one scan"
    )
    parser.add_argument("--force", action="store_true", help="let weights for magnitude images see measurements")
    parser.add_argument("--template", type=path, help="a DICOM file of the scan; dcm results get its patient and study")
    parser.add_argument("--again", action="store_true", help="make again what is there")
    parser.add_argument("--shard", type=_shard, metavar="I/N", help="only the I-th of N parts, I from 1 to N")
    parser.add_argument("--engine", choices=ENGINES, default="local", help="ray: spread over a Ray cluster")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto")
    parser.add_argument("--threads", type=threads, help="threads on the CPU")


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a part; write 3/100 for the third of a hundred")
    return int(match[1]), int(match[2])
