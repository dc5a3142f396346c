"""``somamba demo``: the bundled real scan, undersampled and reconstructed; a table, a picture, a page."""

from pathlib import Path

from rich.table import Table

from somamba.cli.output import make_console
from somamba.cli.parsers.demo import parser
from somamba.durable import replace_file
from somamba.evaluation.trial import Attempt, Trial, undersample
from somamba.inference.raw.opening import open_raw_scan
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights import open_weights
from somamba.report.figures.canvas import save_figure
from somamba.report.names import method_name
from somamba.report.panels import Panel, panels_figure, panels_page
from somamba.runtime.threads import use_threads

SAMPLE = Path(__file__).parents[1] / "samples" / "brain_13coil.npz"
ORIGIN = (
    "The scan: one slice of a head, 13 coils, fully sampled, from the test data of the Python package pyqmri, Apache "
    "License 2.0. Research software: not for diagnosis."
)


def main(arguments: list[str]) -> None:
    """Undersample, reconstruct, print, draw."""
    options = parser().parse_args(arguments)
    use_threads(options.threads)
    scan = open_raw_scan(SAMPLE)
    trial = undersample(scan.kspace(0), Undersampling(acceleration=options.acceleration))
    attempts = []
    for name in ("zero_filled", "cg_sense", options.weights):
        trained = open_weights(name)
        attempts.append(trial.attempt(method_name(trained.name), trained.model))
    summary = _summary(trial)
    console = make_console()
    console.print(f"{summary}.", soft_wrap=True)
    console.print(_table(attempts))
    for path in _write(options.output, trial, attempts, summary):
        console.print(f"wrote {path.resolve()}", soft_wrap=True)


def _summary(trial: Trial) -> str:
    coils, rows, columns = trial.measured.kspace.shape
    lines = len(trial.mask.lines or ())
    return (
        f"A real scan, {coils} coils, {rows} x {columns}: {lines} of {columns} columns of k-space kept "
        f"(x{trial.mask.realised_acceleration:.1f}, {trial.mask.calibration} calibration lines)"
    )


def _table(attempts: list[Attempt]) -> Table:
    table = Table("method")
    for name in ("PSNR, dB", "SSIM", "seconds"):
        table.add_column(name, justify="right")
    for attempt in attempts:
        scores = attempt.scores
        table.add_row(attempt.method, f"{scores.psnr:.2f}", f"{scores.ssim:.4f}", f"{attempt.seconds:.2f}")
    return table


def _write(folder: Path, trial: Trial, attempts: list[Attempt], summary: str) -> tuple[Path, Path]:
    panels = [
        Panel(name=a.method, image=a.image, psnr=a.scores.psnr, ssim=a.scores.ssim, seconds=a.seconds) for a in attempts
    ]
    picture, page = folder / "demo.png", folder / "demo.html"
    text = panels_page(trial.reference, panels, title="somamba: a real scan", summary=f"{summary}.", note=ORIGIN)
    save_figure(panels_figure(trial.reference, panels), picture)
    replace_file(page, text.encode())
    return picture, page
