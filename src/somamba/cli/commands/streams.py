"""``somamba streams CHECKPOINT``: the carrier and the evidence of every unit on one slice, in a file for figures."""

from argparse import Namespace
from dataclasses import replace

from somamba.cli.model_options import asked_evaluation
from somamba.cli.output import say
from somamba.data.slices import SliceDataset
from somamba.errors import InputError
from somamba.evaluation.streams import record
from somamba.report.names import counted
from somamba.results.streams import write_streams


def main(options: Namespace) -> None:
    """Reconstruct one slice and write its streams."""
    with asked_evaluation(options) as (trained, asked, world):
        dataset = replace(asked, limit_cases=1).slices(only=options.case)
        index = _position(dataset, options.slice)
        words = ("--case", dataset.cases[0].id, "--slice", str(dataset.cases[0].slices[index]))
        command = asked.command("streams", *words)
        recorded = record(trained, dataset, index, setting=asked.setting(), command=command)
        if world.leads:
            write_streams(options.output, recorded)
            facts = recorded.facts
            say(f"{facts.case}, slice {facts.slice}: {counted(recorded.units, 'unit')}, written to {options.output}")


def _position(dataset: SliceDataset, number: int | None) -> int:
    case = dataset.cases[0]
    if number is None:
        return len(case.slices) // 2
    if number not in case.slices:
        raise InputError(f"Case {case.id!r} has no slice {number}; it has {case.slices[0]} to {case.slices[-1]}.")
    return case.slices.index(number)
