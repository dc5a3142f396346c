"""``somamba evaluate CHECKPOINT``: PSNR, SSIM and NMSE of a trained model on one split of a dataset."""

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from somamba.cli.measurement import asked_examination
from somamba.cli.output import say, say_json
from somamba.cli.parsers.evaluate import parser
from somamba.cli.progress import told_progress
from somamba.evaluation.evaluate import summary
from somamba.evaluation.examination import Examination, Examined, examine
from somamba.evaluation.gallery import GalleryRequest
from somamba.evaluation.rows import write_rows
from somamba.inference.trained import Trained, open_model
from somamba.runtime.processes import World, joined
from somamba.runtime.threads import use_threads

UNITS = {"psnr": " dB"}


def main(arguments: list[str]) -> None:
    """Parse, evaluate (under ``torchrun`` together with the other processes), print, write."""
    options = parser().parse_args(arguments)
    use_threads(options.threads)
    trained = open_model(options.checkpoint)
    examination = asked_examination(trained, options)
    with joined(options.device) as world:
        examined = _examine(trained, examination, options, world)
        if world.leads:
            if options.json:
                say_json(_document(examined))
            else:
                say(describe(examined))
            if options.csv is not None:
                write_rows(options.csv, examined.rows())


def describe(examined: Examined) -> str:
    """What is printed: mean and standard deviation over cases."""
    results, config, split = examined.results, examined.dataset.config, examined.examination.split
    slices, empty = sum(r.slices for r in results), sum(r.slices_left_out for r in results)
    lines = [
        f"{config.dataset} {split}, protocol {config.protocol}, {config.mask_kind} mask, x{config.acceleration:g} "
        f"(realised x{results[0].sampled.realised_acceleration:.2f}): {len(results)} cases, {slices} slices"
        + (f", {empty} empty slices left out" if empty else "")
    ]
    for name, (mean, std) in summary(results).items():
        lines.append(f"  {name.upper():<5} {mean:.4f} ± {std:.4f}{UNITS.get(name, '')}")
    return "\n".join(lines)


def _document(examined: Examined) -> dict[str, Any]:
    """What ``--json`` prints: mean and standard deviation over cases, and the row of every case."""
    means = {name: {"mean": mean, "std": std} for name, (mean, std) in summary(examined.results).items()}
    return {"summary": means, "cases": [asdict(row) for row in examined.rows()]}


def _examine(trained: Trained, examination: Examination, options: Namespace, world: World) -> Examined:
    keep = None
    if options.keep is not None:
        keep = GalleryRequest(folder=options.keep, cases=options.keep_cases, label=options.label)
    with told_progress("batches" if options.batch_size > 1 else "slices", leads=world.leads) as tell:
        return examine(
            trained,
            examination,
            batch_size=options.batch_size,
            device=world.device,
            processes=world,
            on_batch=tell,
            keep=keep,
        )
