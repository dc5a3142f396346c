"""``somamba cost``: parameters, multiply-accumulates, seconds and memory of networks."""

from argparse import Namespace
from typing import Any

import torch
from rich.progress import track

from somamba.cli.output import make_console, say, say_json
from somamba.cli.progress import told_progress
from somamba.errors import InputError
from somamba.evaluation.cost.counted import Cost, measure_cost
from somamba.evaluation.cost.measured import InferenceCost, measure_inference
from somamba.models.zoo import MODELS, build
from somamba.report.render.markdown import markdown
from somamba.report.tables.efficiency import check_scores, efficiency_table
from somamba.results.cost import CostRecord
from somamba.results.record import flat, read_records, write_records
from somamba.results.scores import ScoreRecord
from somamba.runtime.device import use_threads
from somamba.runtime.provenance import commit, processor


def main(options: Namespace) -> None:
    """Count and measure the networks, print the table."""
    if options.all == bool(options.models):
        raise InputError("Name one or more networks (`somamba models` lists them), or ask for --all, not both.")
    if options.measure is None:
        options.measure = options.all
    use_threads(options.threads)
    scores = read_records(ScoreRecord, *options.results)
    check_scores(scores)  # before the measurement, which takes minutes
    costs = _count(options)
    if options.csv is not None:
        write_records(options.csv, costs)
    if options.json:
        say_json([flat(cost) for cost in costs])
    else:
        say(markdown(efficiency_table(costs, scores)), end="")


def _count(options: Namespace) -> list[CostRecord]:
    names = list(MODELS) if options.all else list(dict.fromkeys(options.models))
    console = make_console(stderr=True)
    watched = track(names, "Counting", console=console, transient=True, disable=not console.is_terminal)
    costs = {name: measure_cost(build(name).eval(), options.size) for name in watched}
    measured: dict[str, InferenceCost] = {}
    if options.measure:
        with told_progress("inferences") as tell:
            measured = measure_inference(names, options.size, repeats=options.repeats, on_progress=tell)
    where = {"threads": torch.get_num_threads(), "processor": processor() if measured else "", "commit": commit()}
    where["command"] = _command(options)
    return [_record(name, cost, options.size, measured.get(name), where) for name, cost in costs.items()]


def _command(options: Namespace) -> str:
    """The command that gives these records again."""
    words = ["somamba cost", *(["--all"] if options.all else options.models), "--size", "{}x{}".format(*options.size)]
    words.append("--measure" if options.measure else "--no-measure")
    if options.measure:
        words += ["--repeats", str(options.repeats), "--threads", str(torch.get_num_threads())]
    return " ".join(words)


def _record(
    name: str, cost: Cost, size: tuple[int, int], measured: InferenceCost | None, where: dict[str, Any]
) -> CostRecord:
    return CostRecord(
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
