"""``somamba report RUNS...``: one HTML file with tables, slices, curves and where all of it comes from."""

import shlex
from argparse import Namespace
from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.report.report import SLICES, TITLE, build_report
from somamba.report.sources import gather
from somamba.runtime.provenance import code_record
from somamba.training.journal import read_journal

DESCRIPTION = """Make one HTML file that opens from disk and asks the network for nothing.

What is given is recognised by what it holds, in any order:
  folder of a run or of a sweep        learning curves, recipe, rows of val.csv, steps and speed of a sweep
  CSV file of somamba evaluate         tables that sort, paired statistics
  CSV file of somamba leakage          HLeak, RLeak and eta, unit by unit
  CSV file of somamba cost             parameters, MACs, time and memory
  CSV file of somamba sweep            budget, steps and speed of its runs
  folder of somamba evaluate --keep    slice viewer: flip methods, error maps, k-space, zoom, window and level
  PNG picture                          a figure

Neither torch nor matplotlib is needed.

examples:
  somamba report results/*.csv weights/so_mamba_acdc_x4 -o report.html
  somamba evaluate runs/acdc_x4/best --dataset acdc --data data/acdc --split val --keep gallery --csv so_mamba.csv
  somamba report runs/acdc_x4 so_mamba.csv gallery -o report.html
  somamba report runs/acdc_cpu_x4_ownership leakage.csv -o ownership.html --title "Ownership ablation\""""


def main(arguments: list[str]) -> None:
    """Read, build, write."""
    parser = teaching_parser("report", DESCRIPTION)
    parser.add_argument("sources", nargs="+", type=Path, help="folders and files, see above")
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), help="by default report.html")
    parser.add_argument("--title", default=TITLE, help=f"by default {TITLE!r}")
    parser.add_argument(
        "--slices",
        type=int,
        default=SLICES,
        help=f"of each kept case at most so many, evenly spread (default {SLICES})",
    )
    options = parser.parse_args(arguments)
    if options.slices < 1:
        raise InputError(f"--slices {options.slices} shows nothing; give 1 or more.")
    sources = gather(options.sources, read_journal=read_journal)
    code = code_record()
    made_by = {
        "command": _command(options),
        "somamba": code["somamba"],
        "commit": code["commit"],
    }
    page = build_report(sources, title=options.title, most_slices=options.slices, made_by=made_by).encode()
    replace_file(options.output, page)
    print(f"wrote {options.output} ({len(page) / 1e6:.1f} MB)")


def _command(options: Namespace) -> str:
    """What to type to make the page again; where files lie on this machine is nobody's business."""
    paths = [Path(*path.parts[-2:]) if path.is_absolute() else path for path in options.sources]
    words = [*map(str, paths), "-o", options.output.name]
    words += ["--title", options.title] if options.title != TITLE else []
    words += ["--slices", str(options.slices)] if options.slices != SLICES else []
    return shlex.join(["somamba", "report", *words])
