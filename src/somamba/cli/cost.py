"""``somamba cost``: parameters, multiply-accumulates, seconds and memory of networks."""

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track

from somamba.cli.arguments import image_size, teaching_parser
from somamba.cli.progress import told_progress
from somamba.errors import InputError
from somamba.evaluation.cost import Cost, measure_cost
from somamba.evaluation.cost_rows import CostRow, write_costs
from somamba.evaluation.efficiency import Measured, measure_inference
from somamba.evaluation.rows import read_rows
from somamba.models.zoo import MODELS, build
from somamba.report.efficiency import check_results, efficiency_table
from somamba.runtime.provenance import commit, processor
from somamba.runtime.threads import use_threads

DESCRIPTION = """Count the parameters and the multiply-accumulates (MACs) of one forward pass (Table 3 of the paper).

"FLOPs" means different things in different papers, so there are several columns:
  module MACs          as the SO-Mamba paper counts: convolutions, linear layers, norms and pools
  FLOPs in the paper   what its Table 3 prints, at 320x320
  all MACs             every matrix product and convolution that runs, layer or not
  scan + FFT           the state-space recurrence, which no counter sees, and 5 N log2 N operations for an FFT of N
                       points, two to a MAC; both by formula
Beside them the seconds and the memory of one inference, measured in this run on this machine: with --all unless
--no-measure says otherwise (at 320x320 minutes, most of them for the transformers and LMO), else with --measure.

examples:
  somamba cost so_mamba hifi_mamba --size 256x218
  somamba cost --all --size 320
  somamba cost --all --size 320 --no-measure
  somamba cost so_mamba hifi_mamba --measure --results results/*.csv --csv cost.csv"""

COLUMNS = ("parameters", "module MACs", "all MACs", "scan", "FFT")


def cells(cost: Cost) -> list[str]:
    """The columns of one network, for people."""
    macs = (cost.module, cost.all, cost.scan, cost.fft)
    return [f"{cost.parameters:,}", *(f"{value / 1e9:.2f} G" for value in macs)]


def main(arguments: list[str]) -> None:
    """Parse, count, measure, print."""
    options = _parser().parse_args(arguments)
    if options.all == bool(options.models):
        raise InputError("Name one or more networks (`somamba models` lists them), or ask for --all, not both.")
    if options.measure is None:
        options.measure = options.all
    use_threads(options.threads)
    if options.repeats < 1:
        raise InputError(f"--repeats {options.repeats} measures nothing; give 1 or more.")
    results = [row for path in options.results for row in read_rows(path)]
    check_results(results)  # before what takes minutes
    rows = _count(options)
    if options.csv is not None:
        write_costs(options.csv, rows)
    print(efficiency_table(rows, results), end="")


def _parser() -> ArgumentParser:
    parser = teaching_parser("cost", DESCRIPTION)
    parser.add_argument("models", nargs="*", metavar="NAME", help="names from `somamba models`")
    parser.add_argument("--all", action="store_true", help="every network")
    parser.add_argument("--size", type=image_size, default=(320, 320), help="image size, 320 or 256x218 (default: 320)")
    parser.add_argument("--measure", action=BooleanOptionalAction, help="measure seconds and memory as well")
    parser.add_argument("--repeats", type=int, default=3, help="of the measurement, best counts (default: 3)")
    parser.add_argument("--threads", type=int, help="threads on the CPU")
    parser.add_argument("--results", nargs="+", type=Path, default=[], metavar="CSV", help="adds PSNR and SSIM")
    parser.add_argument("--csv", type=Path, help="write the rows to this file")
    return parser


def _count(options: Namespace) -> list[CostRow]:
    names = list(MODELS) if options.all else list(dict.fromkeys(options.models))
    console = Console(stderr=True)
    watched = track(names, "Counting", console=console, transient=True, disable=not console.is_terminal)
    costs = {name: measure_cost(build(name).eval(), options.size) for name in watched}
    measured: dict[str, Measured] = {}
    if options.measure:
        with told_progress("inferences") as tell:
            measured = measure_inference(names, options.size, repeats=options.repeats, on_run=tell)
    where = {"threads": torch.get_num_threads(), "processor": processor() if measured else "", "commit": commit()}
    where["command"] = _command(options)
    return [_row(name, cost, options.size, measured.get(name), where) for name, cost in costs.items()]


def _command(options: Namespace) -> str:
    """What to type to get these rows again."""
    words = ["somamba cost", *(["--all"] if options.all else options.models), "--size", "{}x{}".format(*options.size)]
    words.append("--measure" if options.measure else "--no-measure")
    if options.measure:
        words += ["--repeats", str(options.repeats), "--threads", str(torch.get_num_threads())]
    return " ".join(words)


def _row(name: str, cost: Cost, size: tuple[int, int], measured: Measured | None, where: dict[str, Any]) -> CostRow:
    return CostRow(
        method=name,
        height=size[0],
        width=size[1],
        parameters=cost.parameters,
        module_macs=cost.module,
        all_macs=cost.all,
        scan_macs=cost.scan,
        fft_macs=cost.fft,
        seconds=measured.seconds if measured else 0.0,
        megabytes=measured.megabytes if measured else 0.0,
        **where,
    )
