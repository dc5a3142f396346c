"""What ``somamba train`` takes."""

from somamba.cli.arguments import RecipeParser, path, real, whole
from somamba.cli.places import output_folder

DESCRIPTION = """Train a model as a recipe says. A recipe is a YAML file; every field of it is an option as well.

The run is a folder: last/ to resume from, best/ the weights of the best validation, journal.jsonl. A run that was
stopped, killed or ran out of disk goes on with --resume and ends with the same bytes as one never interrupted.
Exit code: 0 when the training is complete, 75 at its time limit, 128 + signal after a signal.

A run with optimiser.schedule: constant has no fixed length: --epochs may grow whenever it is resumed. Given the folder
of a run, --anneal EPOCHS makes weights for use from its last checkpoint: in a new folder the rate decays to zero over
so many epochs. The run itself is only read, and may be training meanwhile.

examples:
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --dry-run
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --optimiser.learning-rate 4e-4 --output runs/slower
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --resume
  somamba train recipes/acdc_x8.yaml --data.path data/acdc --start-from runs/acdc_x4/best
  somamba train runs/acdc_x4 --anneal 3 --data.path data/acdc --output runs/release
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --processes auto
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --logger tensorboard
  torchrun --nproc-per-node 2 -m somamba train recipes/acdc_x4.yaml --data.path data/acdc"""


def _processes(text: str) -> str:
    """Read ``auto`` or a number of processes."""
    return text if text == "auto" else str(whole(1, 1024)(text))


def add_options(parser: RecipeParser) -> None:
    """Add the options about the session; the others are fields of the recipe."""
    parser.usage = (
        "%(prog)s RECIPE [--output FOLDER] [--resume] [--start-from CHECKPOINT] [--processes N] "
        "[--logger LOGGER] [--dry-run] [--print-config] [--FIELD VALUE ...]\n"
        "       %(prog)s RUN --anneal EPOCHS [--output FOLDER] [--resume] [--FIELD VALUE ...]"
    )
    parser.add_argument(
        "--output", type=output_folder, help="folder of the run (default: runs/ and the name of the recipe)"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the run's last checkpoint, if there is one")
    parser.add_argument(
        "--start-from", type=path, metavar="CHECKPOINT", help="begin with the weights of this checkpoint"
    )
    parser.add_argument(
        "--anneal", type=real(0, 10**6), metavar="EPOCHS", help="decay the rate of a run to zero, in a new folder"
    )
    parser.add_argument(
        "--processes", type=_processes, default="1", metavar="N|auto", help="share each step here (default: 1)"
    )
    parser.add_argument(
        "--logger",
        action="append",
        default=[],
        metavar="LOGGER",
        help="show the run in another program: tensorboard, or what a package offers in somamba.loggers; repeatable",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done, and how long")
    parser.add_argument("--print-config", action="store_true", help="print every field with its value, and leave")
    parser.add_argument("-h", "--help", action="store_true", help="after RECIPE: every field that it may set")
