"""``somamba reconstruct FILE... -o OUT``: from a user's undersampled scans to images."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from somamba.cli.arguments import teaching_parser
from somamba.cli.inspect import add_choices
from somamba.errors import ConfigError, DataError
from somamba.evaluation.metrics import score
from somamba.inference.engines import ENGINES
from somamba.inference.jobs import JobOutcome, ReconstructionRequest, WorkerFactory
from somamba.inference.plan import Job, plan, shard
from somamba.inference.trained import Trained
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights import DEFAULT, open_weights
from somamba.inference.writers.writing import FORMATS
from somamba.physics.masks import MASKS

DESCRIPTION = """Reconstruct undersampled scans: fastMRI and ISMRMRD HDF5 (.h5), NumPy (.npy, .npz), BART (.cfl with
.hdr), and NIfTI images, from which k-space is simulated. somamba inspect FILE says how a file is understood.

What was acquired is found from where k-space is zero; coils are prewhitened where the file has a noise scan; coil maps
are estimated (ESPIRiT) unless they are given; slices are read and reconstructed one at a time. Results say inside how
they were made. Of several files, those whose result is there and was made from the same scan with the same weights and
options are skipped, and a bad one does not stop the others. With --accelerate a fully sampled scan is undersampled
first, and PSNR and SSIM against the full image are given for the network and for zero-filling; the full image is merged
by the same coil maps.
Exit code: 0 when all is there, 2 when anything failed.

examples:
  somamba reconstruct scan.h5 -o scan_reconstructed.nii.gz
  somamba reconstruct full.npy -o full_x4.png --accelerate 4
  somamba reconstruct ksp.cfl -o image.h5 --maps maps.cfl --weights runs/x/best
  somamba reconstruct scans/ -o images/ --format h5 --format png
  somamba reconstruct scans/*.h5 -o images/ --shard $SLURM_ARRAY_TASK_ID/100      (with sbatch --array=1-100)"""

RESULT = {"done": "done", "there": "was there", "failed": "failed"}


def main(arguments: list[str]) -> None:
    """Parse, reconstruct, print a table."""
    options = _parser().parse_args(arguments)
    jobs = plan(options.files, options.output, options.format or ())
    if options.shard is not None:
        jobs = shard(jobs, *options.shard)
    console = Console()
    if not jobs:
        console.print("This shard has nothing to do: there are fewer scans than shards.")
        return
    # Weights that cannot be used are one error, not one for every scan.
    request = _request(options, open_weights(options.weights))
    factory = WorkerFactory(request=request, metric=score, device=options.device, threads=options.threads)
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


def _parser() -> ArgumentParser:
    parser = teaching_parser("reconstruct", DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="scans, patterns such as 'scans/*.h5', or folders")
    parser.add_argument("-o", "--output", required=True, type=Path, help="a file, for one scan, or a folder")
    parser.add_argument(
        "--weights",
        default=DEFAULT,
        help="bundled weights by name, the folder of a checkpoint, or zero_filled (default: %(default)s)",
    )
    parser.add_argument(
        "--format", action="append", choices=list(FORMATS), help="in a folder; may be repeated (default: h5)"
    )
    add_choices(parser)
    parser.add_argument("--accelerate", type=float, metavar="R", help="undersample a fully sampled scan, and compare")
    parser.add_argument("--mask", choices=list(MASKS), help="how --accelerate samples (default: equispaced columns)")
    parser.add_argument("--calibration", type=int, metavar="LINES", help="columns it keeps around the centre")
    parser.add_argument("--seed", type=int, help="names the draw of a random mask (default: 0)")
    parser.add_argument(
        "--no-prewhitening", action="store_true", help="leave the coils of a file with a noise scan alone"
    )
    parser.add_argument("--force", action="store_true", help="let weights for magnitude images see measurements")
    parser.add_argument("--again", action="store_true", help="make again what is there")
    parser.add_argument("--shard", type=_shard, metavar="I/N", help="only the I-th of N parts, I from 1 to N")
    parser.add_argument("--engine", choices=list(ENGINES), default="local", help="ray: spread over a Ray cluster")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, help="threads on the CPU")
    return parser


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a part; write 3/100 for the third of a hundred")
    return int(match[1]), int(match[2])


def _request(options: Namespace, trained: Trained) -> ReconstructionRequest:
    return ReconstructionRequest(
        weights=options.weights,
        undersampling=_undersampling(options, trained),
        axes=options.axes,
        centred=options.centred,
        maps=options.maps,
        prewhiten=not options.no_prewhitening,
        force=options.force,
        again=options.again,
    )


def _undersampling(options: Namespace, trained: Trained) -> Undersampling | None:
    if options.accelerate is None:
        given = [name for name in ("mask", "calibration", "seed") if getattr(options, name) is not None]
        if given:
            raise ConfigError(f"--{given[0]} says how to undersample; give --accelerate too, for example 4.")
        return None
    data = trained.data(options.weights) if trained.protocol == "magnitude" else None
    # Weights for magnitude images have seen one kind of mask only.
    mask = options.mask or ("equispaced" if data is None else data.mask_kind)
    return Undersampling(
        acceleration=options.accelerate, mask=mask, calibration=options.calibration, seed=options.seed or 0
    )


def _watched(jobs: Sequence[Job], engine: str, factory: WorkerFactory) -> Iterator[JobOutcome]:
    """The outcomes, with a bar that counts slices; where there is no terminal, a line for every scan instead."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, *times, console=console, transient=True, disable=not console.is_terminal) as progress:
        scans = progress.add_task("scans", total=len(jobs))
        slices = progress.add_task("slices", total=None)

        def tell(job: Job, done: int, total: int) -> None:
            progress.update(slices, description=escape(job.source.name), completed=done, total=total)

        for count, outcome in enumerate(ENGINES[engine](jobs, factory, tell), start=1):
            progress.update(scans, completed=count)
            progress.reset(slices, total=None)
            if not console.is_terminal:
                line = f"{count}/{len(jobs)} {outcome.job.source}: {RESULT[outcome.state]}"
                console.print(line, soft_wrap=True, markup=False, highlight=False)
            yield outcome


def _table(outcomes: Sequence[JobOutcome]) -> Table:
    """Narrow enough for any terminal: paths and reasons, which may be long, are told below it."""
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
    """Where the result is, or why there is none."""
    if outcome.state == "failed":
        return f"{outcome.job.source.name}: {outcome.reason}"
    return f"{outcome.job.source.name} -> {', '.join(str(path) for path, _ in outcome.job.outputs)}"


def _slices(outcome: JobOutcome) -> str:
    return str(outcome.slices) + (f", {outcome.empty} empty" if outcome.empty else "")


def _cell(outcome: JobOutcome, method: str, metric: str) -> str:
    value = outcome.scores.get(method, {}).get(metric)
    return "-" if value is None else f"{value:.2f}" if metric == "psnr" else f"{value:.3f}"
