"""``somamba reconstruct FILE... -o OUT``: from a user's undersampled scans to images."""

import logging
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from somamba.cli.adapting import AdaptationTask, TimeLeftColumn
from somamba.cli.output import make_console
from somamba.errors import ConfigError, DataError
from somamba.evaluation.metrics import score
from somamba.inference.adaptation import Adaptation
from somamba.inference.engines import ENGINES
from somamba.inference.jobs import JobOutcome, ReconstructionRequest, WorkerFactory
from somamba.inference.plan import Job, plan, shard
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import Trained, open_weights

RESULT = {"done": "done", "there": "was there", "failed": "failed"}


def main(options: Namespace) -> None:
    """Reconstruct the scans and print a table."""
    jobs = plan(options.files, options.output, options.format or ())
    if options.template is not None and not any(name == "dcm" for job in jobs for _, name in job.outputs):
        raise ConfigError("--template is for DICOM results; name a .dcm file, or a folder with --format dcm.")
    if options.shard is not None:
        jobs = shard(jobs, *options.shard)
    console = make_console()
    if not jobs:
        console.print("This shard has nothing to do: there are fewer scans than shards.")
        return
    _check_adaptation(options, jobs)
    # Weights that cannot be used are one error, not one for every scan.
    trained = open_weights(options.weights)
    factory = WorkerFactory(
        request=_request(options, trained),
        trained=trained,
        metric=score,
        device=options.device,
        threads=options.threads,
    )
    outcomes = list(_watched(jobs, options.engine, factory))
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    if len(jobs) == 1 and failed:
        raise DataError(failed[0].reason)
    console.print(_table(outcomes))
    lines = [_remark(outcome) for outcome in outcomes]
    for note, count in Counter(note for outcome in outcomes for note in outcome.notes).items():
        lines.append(f"note{f' ({count} of {len(jobs)} scans)' if len(jobs) > 1 else ''}: {note}")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    if failed:
        raise DataError(f"{len(failed)} of {len(jobs)} scans could not be reconstructed; see above.")


def _check_adaptation(options: Namespace, jobs: Sequence[Job]) -> None:
    """Refuse to keep several adapted networks in one folder; log the progress of an adaptation if there is no bar."""
    if options.save_adapted is not None and options.adapt is None:
        raise ConfigError("--save-adapted keeps what --adapt makes; give --adapt auto too.")
    if options.save_adapted is not None and len(jobs) > 1:
        raise ConfigError(f"--save-adapted keeps the network of one scan, and there are {len(jobs)}.")
    if options.adapt is not None and not make_console(stderr=True).is_terminal:
        logging.getLogger("somamba.inference.adaptation").setLevel(logging.INFO)


def _request(options: Namespace, trained: Trained) -> ReconstructionRequest:
    return ReconstructionRequest(
        weights=options.weights,
        recovery=RecoveryOptions(
            undersampling=_undersampling(options, trained),
            prewhiten=not options.no_prewhitening,
            force=options.force,
            coils=options.coils,
            refine=not options.no_refinement,
        ),
        adaptation=None if options.adapt is None else Adaptation(steps=options.adapt or None),
        save_adapted=options.save_adapted,
        axes=options.axes,
        centred=options.centred,
        maps=options.maps,
        template=options.template,
        again=options.again,
    )


def _undersampling(options: Namespace, trained: Trained) -> Undersampling | None:
    if options.acceleration is None:
        given = [name for name in ("mask", "calibration", "seed") if getattr(options, name) is not None]
        if given:
            raise ConfigError(f"--{given[0]} says how to undersample; give --acceleration too, for example 4.")
        return None
    data = trained.data(options.weights) if trained.protocol == "magnitude" else None
    # Weights for magnitude images have seen one kind of mask only.
    mask = options.mask or ("equispaced" if data is None else data.mask_kind)
    return Undersampling(
        acceleration=options.acceleration, mask=mask, calibration=options.calibration, seed=options.seed or 0
    )


def _watched(jobs: Sequence[Job], engine: str, factory: WorkerFactory) -> Iterator[JobOutcome]:
    """The outcomes, with a bar that counts slices; if there is no terminal, a line for every scan instead."""
    console = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeLeftColumn())
    with Progress(*columns, *times, console=console, transient=True, disable=not console.is_terminal) as progress:
        scans = progress.add_task("scans", total=len(jobs))
        slices = progress.add_task("slices", total=None)

        def on_slice(job: Job, done: int, total: int) -> None:
            progress.update(slices, description=escape(job.source.name), completed=done, total=total)

        if console.is_terminal:
            factory = replace(factory, on_adapting=AdaptationTask(progress))
        for count, outcome in enumerate(ENGINES[engine](jobs, factory, on_slice), start=1):
            progress.update(scans, completed=count)
            progress.reset(slices, total=None)
            if not console.is_terminal:
                line = f"{count}/{len(jobs)} {outcome.job.source}: {RESULT[outcome.state]}"
                console.print(line, soft_wrap=True, markup=False, highlight=False)
            yield outcome


def _table(outcomes: Sequence[JobOutcome]) -> Table:
    """The table of outcomes. Paths and reasons, which may be long, are printed below it, so it fits any terminal."""
    table = Table()
    methods = list(dict.fromkeys(method for outcome in outcomes for method in outcome.scores))
    table.add_column("scan", overflow="fold")
    table.add_column("result", no_wrap=True)
    for heading in ("slices", "seconds", *(f"{method}\nPSNR / SSIM" for method in methods)):
        table.add_column(heading, justify="right")
    for outcome in outcomes:
        failed = outcome.state == "failed"
        table.add_row(
            escape(outcome.job.source.name),
            f"[red]{RESULT[outcome.state]}[/red]" if failed else RESULT[outcome.state],
            "-" if failed else _slices(outcome),
            f"{outcome.seconds:.1f}" if outcome.state == "done" else "-",
            *(f"{_cell(outcome, method, 'psnr')} / {_cell(outcome, method, 'ssim')}" for method in methods),
        )
    return table


def _remark(outcome: JobOutcome) -> str:
    """The place of the result, or the reason why there is none."""
    if outcome.state == "failed":
        return f"{outcome.job.source.name}: {outcome.reason}"
    return f"{outcome.job.source.name} -> {', '.join(str(path) for path, _ in outcome.job.outputs)}"


def _slices(outcome: JobOutcome) -> str:
    return str(outcome.slices) + (f", {outcome.empty} empty" if outcome.empty else "")


def _cell(outcome: JobOutcome, method: str, metric: str) -> str:
    value = outcome.scores.get(method, {}).get(metric)
    return "-" if value is None else f"{value:.2f}" if metric == "psnr" else f"{value:.3f}"
