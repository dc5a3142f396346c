"""``somamba evaluate CHECKPOINT``: PSNR, SSIM and NMSE of a trained model on one split of a dataset."""

from argparse import Namespace
from typing import Any

from somamba.cli.model_options import asked_evaluation, heading
from somamba.cli.output import say, say_json
from somamba.cli.progress import told_progress
from somamba.evaluation.evaluate import summary
from somamba.evaluation.gallery import GalleryRequest
from somamba.evaluation.spec import EvaluationResult, EvaluationSpec, run_evaluation
from somamba.inference.weights.trained import Trained
from somamba.report.names import CHOSEN, counted
from somamba.results.record import flat, write_records
from somamba.runtime.processes import World

UNITS = {"psnr": " dB"}


def main(options: Namespace) -> None:
    """Evaluate (under ``torchrun`` together with the other processes), print and write scores."""
    with asked_evaluation(options) as (trained, spec, world):
        result = _evaluate(trained, spec, options, world)
        if world.leads:
            if options.csv is not None:
                write_records(options.csv, result.records())
            if options.json:
                say_json(_document(result))
            else:
                say(describe(result))


def describe(result: EvaluationResult) -> str:
    """The text that is printed: mean and standard deviation over cases."""
    scores, setting = result.scores, result.spec.setting()
    slices, empty = sum(one.slices for one in scores), sum(one.slices_left_out for one in scores)
    left_out = f", {counted(empty, 'empty slice')} left out" if empty else ""
    lines = [heading(setting, scores[0].sampled, len(scores), slices) + left_out]
    for name, (mean, std) in summary(scores).items():
        lines.append(f"  {name.upper():<5} {mean:.4f} ± {std:.4f}{UNITS.get(name, '')}")
    if setting.split == "val" and result.trained.weights:
        lines.append(CHOSEN)
    return "\n".join(lines)


def _document(result: EvaluationResult) -> dict[str, Any]:
    """What ``--json`` prints: mean and standard deviation over cases, and the record of every case."""
    means = {name: {"mean": mean, "std": std} for name, (mean, std) in summary(result.scores).items()}
    return {"summary": means, "cases": [flat(record) for record in result.records()]}


def _evaluate(trained: Trained, spec: EvaluationSpec, options: Namespace, world: World) -> EvaluationResult:
    keep = None
    if options.keep is not None:
        keep = GalleryRequest(folder=options.keep, cases=options.keep_cases, label=options.label)
    with told_progress("batches" if options.batch_size > 1 else "slices", leads=world.leads) as tell:
        return run_evaluation(
            trained,
            spec,
            batch_size=options.batch_size,
            device=world.device,
            processes=world,
            on_progress=tell,
            keep=keep,
        )
