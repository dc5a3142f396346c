"""``somamba models``: the networks that can be built, with their size and cost."""

from argparse import Namespace

from rich.progress import track
from rich.table import Table

from somamba.cli.output import make_console
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.zoo import MODELS, build

MACS = ("modules", "all", "scan", "FFT")
"""Columns of ``--cost``, which ``somamba cost --help`` explains."""


def main(options: Namespace) -> None:
    """Build each network and print the table."""
    size = "{}x{}".format(*options.size)
    table = Table(title=f"MACs of one {size} image, in thousand millions" if options.cost else None)
    table.add_column("name", no_wrap=True)
    table.add_column("parameters", justify="right", no_wrap=True)
    for column in MACS if options.cost else ():
        table.add_column(column, justify="right", no_wrap=True)
    if not options.cost:  # Eighty characters hold either the numbers or the words.
        table.add_column("what it is")
    console = make_console()
    for name, entry in track(
        MODELS.items(), "Counting", console=console, transient=True, disable=not console.is_terminal
    ):
        network = build(name).eval()
        parameters = f"{network.parameter_count:,}"
        if options.cost:
            cost = measure_cost(network, options.size)
            macs = (cost.module, cost.all, cost.scan, cost.fft)
            table.add_row(name, parameters, *(f"{value / 1e9:.2f}" for value in macs))
        else:
            table.add_row(name, parameters, entry.summary)
    console.print(table)
    console.print(
        "Papers, and the licence of the public code that goes with them (ours is Apache-2.0):", highlight=False
    )
    cited: dict[str, str] = {}
    for name, entry in MODELS.items():
        cited.setdefault(entry.citation, f"{name}: {entry.citation} [{entry.licence}]")
    for citation, line in cited.items():
        if citation != "-":
            console.print(line, highlight=False, markup=False)
