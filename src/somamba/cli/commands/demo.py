"""``somamba demo``: the bundled real scan, undersampled and reconstructed; a table, a picture, a page."""

import logging
import shlex
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from somamba.cli.declared import WEIGHTS
from somamba.cli.main import parser_of
from somamba.cli.output import make_console
from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.evaluation.metrics import score
from somamba.extras import installed
from somamba.inference.adaptation import Adaptation
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.reconstruct import reconstruct
from somamba.inference.recovery import RecoveredSlice
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import Trained, open_weights
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.raw.opening import open_raw_scan
from somamba.report.figures.canvas import save_figure
from somamba.report.names import method_name
from somamba.report.page.markup import Content, element
from somamba.report.panels import PageText, Panel, panels_figure, panels_page
from somamba.runtime.device import use_threads

SAMPLE = Path(__file__).parents[2] / "samples" / "brain_13coil.npz"
ORIGIN = (
    "The scan: one slice of a head, 13 coils, fully sampled, from the test data of the Python package pyqmri, Apache "
    "License 2.0. Research software: not for diagnosis."
)


def main(options: Namespace) -> None:
    """Undersample and reconstruct the sample, print the table, draw the picture and the page."""
    use_threads(options.threads)
    undersampling = Undersampling(acceleration=options.acceleration)
    # All are opened before the first is used: weights that are not there are refused at once.
    methods = [open_weights(name) for name in ("zero_filled", "cg_sense", "l1_wavelet", options.weights)]
    attempts = [attempt(trained, undersampling) for trained in methods]
    if methods[-1].parameters > 0:
        # How long it will take, and how far it is.
        logging.getLogger("somamba.inference.adaptation").setLevel(logging.INFO)
        attempts.append(attempt(methods[-1], undersampling, Adaptation(steps=options.adapt or None)))
    console = make_console()
    console.print(_summary(attempts[0], undersampling), soft_wrap=True)
    console.print(_table(attempts))
    text = _page_text(options, methods[-1], attempts[0], undersampling)
    for path in _write(options.output, attempts, text):
        console.print(f"wrote {path.resolve()}", soft_wrap=True)
    if not installed("matplotlib"):
        console.print("demo.png was not drawn: it needs matplotlib. Try: pip install 'somamba[report]'", markup=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attempt(Panel):
    """What one method made of the sample; its seconds include those of adapting to the scan."""

    recovered: RecoveredSlice


def attempt(trained: Trained, undersampling: Undersampling, adaptation: Adaptation | None = None) -> Attempt:
    """Reconstruct the sample from a part of its samples, and compare it with the whole scan.

    Args:
        trained: The method.
        undersampling: Which samples are kept.
        adaptation: Adapt a copy of the network to the scan first; None takes it as it is.

    Raises:
        InputError: too few samples were kept to reconstruct anything from.
    """
    recovered: list[RecoveredSlice | None] = []
    options = RecoveryOptions(undersampling=undersampling)
    scan = open_raw_scan(SAMPLE)
    made = reconstruct(scan, trained, options, adaptation=adaptation, on_slice=recovered.append)
    (one,) = recovered
    if one is None:
        raise InputError("There is no signal in the samples that were kept.")
    psnr, ssim, _ = score(np.abs(one.image), np.abs(one.whole()))
    name, seconds = method_name(trained.name), one.seconds
    if adaptation is not None:
        name, seconds = f"{name}, adapted", seconds + made.provenance["adaptation"]["seconds"]
    return Attempt(name=name, image=one.image, psnr=psnr, ssim=ssim, seconds=seconds, recovered=one)


def _summary(attempt: Attempt, undersampling: Undersampling) -> str:
    _, rows, columns = attempt.recovered.prepared.full.shape
    coils = attempt.recovered.scan.coils  # as measured; for the reconstruction they may be compressed to fewer
    mask = undersampling.pattern((rows, columns), coils=coils)
    return (
        f"A real scan, {coils} coils, {rows} x {columns}: {len(mask.lines or ())} of {columns} columns of k-space kept "
        f"(x{mask.realised_acceleration:.1f}, {mask.calibration} calibration lines)."
    )


def _table(attempts: list[Attempt]) -> Table:
    table = Table("method")
    for name in ("PSNR, dB", "SSIM", "seconds"):
        table.add_column(name, justify="right")
    for one in attempts:
        table.add_row(one.name, f"{one.psnr:.2f}", f"{one.ssim:.4f}", f"{one.seconds:.2f}")
    return table


def _page_text(options: Namespace, trained: Trained, first: Attempt, undersampling: Undersampling) -> PageText:
    """What the page says of mask, command and weights, and what a reader may do next."""
    full = first.recovered.prepared.full
    size = int(full.shape[-2]), int(full.shape[-1])
    mask = undersampling.pattern(size, coils=len(full))
    weights = str(options.weights)
    network = f"{method_name(trained.name)}, {trained.parameters:,} parameters"
    facts: dict[str, Content] = {
        "command": element("code", shlex.join(["somamba", *_words(options)])),
        "weights": f"{weights}: {network}, SHA-256 {trained.weights}" if trained.weights else network,
        "mask": f"{mask.kind}, the same columns of every row",
        "acceleration": f"nominal x{mask.acceleration:g}, realised x{mask.realised_acceleration:.2f}",
        "mask digest": element("code", mask.digest),
    }
    own = ["somamba", "reconstruct", "scan.h5", "-o", "image.nii.gz"]
    steps = {
        "What a scan of your own is, and how it is understood:": "somamba inspect scan.h5",
        "Reconstruct it with these weights:": shlex.join(
            [*own, *(["--weights", weights] if weights != WEIGHTS else [])]
        ),
        "The card of the weights, with data, results and limits:": shlex.join(["somamba", "weights", "show", weights]),
    }
    if not trained.parameters:
        del steps["The card of the weights, with data, results and limits:"]
    return PageText(
        title="somamba: a real scan",
        summary=_summary(first, undersampling),
        mask=mask.pattern.expand(size).numpy(),
        mask_kind=mask.kind,
        facts=facts,
        next_steps=steps,
        note=ORIGIN,
    )


def _words(options: Namespace) -> list[str]:
    """What to type to make the page again; folders of this machine are left out."""
    usual = parser_of("demo").parse_args([])
    words = ["demo"]
    words += [] if options.acceleration == usual.acceleration else ["--acceleration", f"{options.acceleration:g}"]
    words += [] if options.weights == usual.weights else ["--weights", options.weights]
    return words + ([] if options.adapt == usual.adapt else ["--adapt", str(options.adapt)])


def _write(folder: Path, attempts: list[Attempt], text: PageText) -> list[Path]:
    """Write the page, and the picture if matplotlib is installed."""
    reference = attempts[-1].recovered.whole()
    picture, page = folder / "demo.png", folder / "demo.html"
    replace_file(page, panels_page(reference, attempts, text).encode())
    if not installed("matplotlib"):
        return [page]
    full = attempts[-1].recovered.prepared.full
    samples = root_sum_of_squares(full[None])[0, 0].numpy() * text.mask
    save_figure(panels_figure(reference, attempts, samples=samples), picture)
    return [picture, page]
