"""What the commands take that measure a checkpoint on one split of a dataset."""

from somamba.cli.arguments import CommandParser, acceleration, count, path, threads
from somamba.cli.places import own_output_file
from somamba.data.terms import TERMS


def add_measuring_options(parser: CommandParser) -> None:
    """Add the model, the data, how much of it, and where to compute and write rows."""
    add_model_options(parser)
    parser.add_argument("--csv", type=own_output_file, help="write the rows to this file")
    parser.add_argument("--limit-cases", type=count, help="only the first so many cases")


def add_model_options(parser: CommandParser) -> None:
    """Add the model, the data, and where to compute."""
    parser.set_defaults(limit_cases=None)
    parser.add_argument("checkpoint", help="folder of a checkpoint, such as runs/x/best, or a model without weights")
    parser.add_argument("--dataset", required=True, choices=list(TERMS))
    parser.add_argument("--data", required=True, type=path, help="folder that holds the dataset")
    parser.add_argument("--split", choices=("train", "val", "test"), default="test", help="default: test")
    parser.add_argument("--acceleration", type=acceleration, help="default: the one of the checkpoint, or 4")
    parser.add_argument("--protocol", choices=("magnitude", "raw"), help="default: the one of the checkpoint")
    parser.add_argument("--force", action="store_true", help="allow another protocol than the one of training")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto")
    parser.add_argument("--threads", type=threads, help="threads on the CPU")
    parser.add_argument("--cache", type=path, help="folder of prepared slices")
