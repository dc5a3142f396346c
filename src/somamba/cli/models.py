"""``somamba models``: the networks that can be built, with their size and cost."""

from rich.progress import track
from rich.table import Table

from somamba.cli.cost import COLUMNS, cells
from somamba.cli.output import make_console
from somamba.cli.parsers.models import parser
from somamba.evaluation.cost import measure_cost
from somamba.models.zoo import MODELS, build


def main(arguments: list[str]) -> None:
    """Parse, build each network, print."""
    options = parser().parse_args(arguments)
    table = Table(title=f"MACs of one {options.size[0]}x{options.size[1]} image" if options.cost else None)
    table.add_column("name", no_wrap=True)
    for column in COLUMNS if options.cost else COLUMNS[:1]:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("what it is")
    console = make_console()
    for name, entry in track(
        MODELS.items(), "Counting", console=console, transient=True, disable=not console.is_terminal
    ):
        network = build(name).eval()
        if options.cost:
            numbers = cells(measure_cost(network, options.size))
        else:
            numbers = [f"{sum(p.numel() for p in network.parameters()):,}"]
        table.add_row(name, *numbers, entry.summary)
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
