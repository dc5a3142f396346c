"""``somamba streams CHECKPOINT``: the carrier and the evidence of every unit on one slice, in a file for figures."""

from dataclasses import replace
from pathlib import Path

from somamba.cli.measurement import asked_examination, model_parser
from somamba.data.slices import SliceDataset
from somamba.errors import InputError
from somamba.evaluation.stream_files import write_streams
from somamba.evaluation.streams import record
from somamba.inference.trained import open_model
from somamba.runtime.processes import joined
from somamba.runtime.threads import use_threads

DESCRIPTION = """Record what the router of every unit makes of one slice: the carrier L, which the state may keep, and
the evidence G, which it may not. The file holds pictures and radial power spectra; `somamba figure streams` and
`somamba figure spectra` draw it, without torch.

examples:
  somamba streams weights/so_mamba_acdc_x4 --dataset acdc --data data/acdc --split val -o streams.npz
  somamba streams runs/acdc_x4/best --dataset acdc --data data/acdc --case patient101 --slice 4 -o streams.npz
  somamba figure streams streams.npz -o streams.png"""


def main(arguments: list[str]) -> None:
    """Parse, reconstruct one slice, write."""
    parser = model_parser("streams", DESCRIPTION)
    parser.add_argument("--case", help="which case; by default the first of the split")
    parser.add_argument("--slice", type=int, help="which slice, by its number in the case; by default the middle one")
    parser.add_argument("-o", "--output", type=Path, default=Path("streams.npz"), help="default: streams.npz")
    options = parser.parse_args(arguments)
    use_threads(options.threads)
    trained = open_model(options.checkpoint)
    asked = asked_examination(trained, options)
    with joined(options.device) as world:
        trained.model.to(world.device)
        dataset = replace(asked, limit_cases=1).slices(only=options.case)
        index = _position(dataset, options.slice)
        words = ("--case", dataset.cases[0].id, "--slice", str(dataset.cases[0].slices[index]))
        recorded = record(trained, dataset, index, split=asked.split, command=asked.command("streams", *words))
        if world.leads:
            write_streams(options.output, recorded)
            facts = recorded.facts
            print(f"{facts.case}, slice {facts.slice}: {recorded.units} units, written to {options.output}")


def _position(dataset: SliceDataset, number: int | None) -> int:
    case = dataset.cases[0]
    if number is None:
        return len(case.slices) // 2
    if number not in case.slices:
        raise InputError(f"Case {case.id!r} has no slice {number}; it has {case.slices[0]} to {case.slices[-1]}.")
    return case.slices.index(number)
