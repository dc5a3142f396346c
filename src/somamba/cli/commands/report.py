"""``somamba report RUNS...``: one HTML file with tables, slices, curves and their provenance."""

import shlex
from argparse import Namespace
from pathlib import Path

from somamba.cli.output import say
from somamba.durable import replace_file
from somamba.report.report import SLICES, TITLE, build_report
from somamba.report.sources import gather
from somamba.runtime.provenance import code_record


def main(options: Namespace) -> None:
    """Read the sources, build the page and write it."""
    sources = gather(options.sources)
    code = code_record()
    made_by = {"command": _command(options), "somamba": code["somamba"], "commit": code["commit"]}
    page = build_report(sources, title=options.title, most_slices=options.slices, made_by=made_by).encode()
    replace_file(options.output, page)
    say(f"wrote {options.output} ({len(page) / 1e6:.1f} MB)")


def _command(options: Namespace) -> str:
    """What to type to make the page again; folders of this machine are left out."""
    paths = [Path(*path.parts[-2:]) if path.is_absolute() else path for path in options.sources]
    words = [*map(str, paths), "-o", options.output.name]
    words += ["--title", options.title] if options.title != TITLE else []
    words += ["--slices", str(options.slices)] if options.slices != SLICES else []
    return shlex.join(["somamba", "report", *words])
