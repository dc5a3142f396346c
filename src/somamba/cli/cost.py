"""``somamba cost``: parameters and multiply-accumulates of one network."""

from rich.console import Console
from rich.table import Table

from somamba.cli.arguments import image_size, teaching_parser
from somamba.evaluation.cost import Cost, measure_cost
from somamba.models.zoo import build

DESCRIPTION = """Count the parameters and the multiply-accumulates (MACs) of one forward pass.

"FLOPs" means different things in different papers, so there are several columns:
  module   as the SO-Mamba paper counts: convolutions, linear layers, norms and pools
  all      every matrix product and convolution that runs, layer or not
  scan     the state-space recurrence, which no counter sees, by formula
  FFT      5 N log2 N operations for N points, two to a MAC

examples:
  somamba cost so_mamba
  somamba cost without_outlet --size 256x218"""

COLUMNS = ("parameters", "module MACs", "all MACs", "scan", "FFT")


def cells(cost: Cost) -> list[str]:
    """The columns of one network, for people."""
    macs = (cost.module, cost.all, cost.scan, cost.fft)
    return [f"{cost.parameters:,}", *(f"{value / 1e9:.2f} G" for value in macs)]


def main(arguments: list[str]) -> None:
    """Parse, count, print."""
    parser = teaching_parser("cost", DESCRIPTION)
    parser.add_argument("model", help="a name from `somamba models`")
    parser.add_argument("--size", type=image_size, default=(320, 320), help="image size, 320 or 256x218 (default: 320)")
    options = parser.parse_args(arguments)
    height, width = options.size
    table = Table(title=f"{options.model}, one {height}x{width} image")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    table.add_row(*cells(measure_cost(build(options.model).eval(), options.size)))
    Console().print(table)
