"""``somamba curve``: the learning curves of one or several runs as a picture."""

from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.errors import InputError
from somamba.report.curves import draw_curves
from somamba.report.sources import run_names
from somamba.training.journal import read_journal

DESCRIPTION = """Draw the training loss and the validation PSNR of one or several runs.

Works while a run is going on: it reads the journal that the run writes.

examples:
  somamba curve runs/acdc_x4 -o curve.png
  somamba curve runs/so_mamba runs/unet --baseline 25.38 -o curves.svg"""


def main(arguments: list[str]) -> None:
    """Read journals, draw."""
    parser = teaching_parser("curve", DESCRIPTION)
    parser.add_argument("runs", nargs="+", type=Path, help="folders that somamba train --output wrote")
    parser.add_argument("-o", "--output", type=Path, default=Path("curve.png"), help="picture (default: curve.png)")
    parser.add_argument("--baseline", type=float, help="PSNR of the zero-filled images, as a line to beat")
    parser.add_argument("--title", default="", help="above the picture")
    options = parser.parse_args(arguments)
    journals = {}
    for name, run in zip(run_names(options.runs), options.runs, strict=True):
        if not (path := run / "journal.jsonl").is_file():
            raise InputError(f"{run} holds no journal.jsonl; name the folder of a run (somamba train --output).")
        journals[name] = read_journal(path)
    draw_curves(journals, options.output, baseline=options.baseline, title=options.title)
    print(f"wrote {options.output}")
