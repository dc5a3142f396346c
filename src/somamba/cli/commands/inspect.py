"""``somamba inspect``: what a user's file is, and how it was understood."""

from argparse import Namespace
from typing import Any

from rich.markup import escape
from rich.table import Table

from somamba.cli.output import make_console, say_json
from somamba.errors import DataError, SomambaError
from somamba.raw.describe import describe
from somamba.raw.opening import open_raw_scan
from somamba.raw.raw_scan import RawScan


def main(options: Namespace) -> None:
    """Open every file and print what was understood."""
    console = make_console()
    failures: list[SomambaError] = []
    documents: list[dict[str, Any]] = []
    for path in options.files:
        try:
            scan = open_raw_scan(path, axes=options.axes, centred=options.centred, maps=options.maps)
            facts = describe(scan)
            documents.append({"file": str(path), "usable": True, "facts": facts, "notes": list(scan.notes)})
            if not options.json:
                console.print(_table(scan, facts))
        except SomambaError as error:
            failures.append(error)
            documents.append({"file": str(path), "usable": False, "reason": str(error)})
            if len(options.files) > 1 and not options.json:
                console.print(f"[red]cannot be used:[/red] {escape(str(error))}")
    if options.json:
        say_json(documents)
    if len(options.files) == 1 and failures:
        raise failures[0]
    if failures:
        raise DataError(f"{len(failures)} of {len(options.files)} files cannot be used.")


def _table(scan: RawScan, facts: dict[str, str]) -> Table:
    table = Table(
        show_header=False,
        title=escape(str(scan.path)),
        caption="\n".join(map(escape, scan.notes)),
        caption_justify="left",
    )
    table.add_column(no_wrap=True)
    table.add_column()
    for name, words in facts.items():
        table.add_row(name, escape(words))
    return table
