"""What ``somamba sweep`` takes."""

from somamba.cli.arguments import RecipeParser
from somamba.cli.places import output_folder

DESCRIPTION = """Train the runs of a grid one after another, under one budget, and measure each on the validation cases.

A grid is a YAML file: a base recipe, minutes of training for every run (or none: then the recipe's epochs decide), and
a list of runs, each with a name and what it does differently. Every field of a recipe is an option, for all runs.
OUTPUT/NAME is a run like any other; its rows are in val.csv, and OUTPUT/GRID.csv has a line for each finished one.

Started again, a sweep skips what is finished and resumes what was stopped; a run that failed is reported, tried again
the next time, and does not keep the others from running. machine.max_minutes bounds the session, not the runs.
Exit code: 0 when all runs are finished, 2 when one failed, 75 at the time limit, 128 + signal after a signal.

examples:
  somamba sweep recipes/acdc_cpu_x4_methods.yaml --data.path data/acdc --dry-run
  somamba sweep recipes/acdc_cpu_x4_methods.yaml --data.path data/acdc --output runs/methods
  somamba sweep recipes/acdc_cpu_x4_ownership.yaml --data.path data/acdc --seed 1 --output runs/seed1
  somamba table runs/acdc_cpu_x4_ownership/*/val.csv --layout ownership"""


def add_options(parser: RecipeParser) -> None:
    """Add the options about the session; the others are fields of the recipes."""
    parser.usage = "%(prog)s GRID [--output FOLDER] [--only NAME ...] [--dry-run] [--FIELD VALUE ...]"
    parser.epilog = "somamba train RECIPE --help lists the fields."
    parser.add_argument(
        "--output", type=output_folder, help="folder of the sweep (default: runs/ and the name of the grid)"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these runs")
    parser.add_argument("--dry-run", action="store_true", help="check everything and say what would be done")
    parser.add_argument("-h", "--help", action="help", help="show this and leave")
