"""Reconstructions of real multi-coil scans, on the same samples and with the same coil maps.

    python benchmarks/real_scans.py SCAN...                                      # table
    python benchmarks/real_scans.py SCAN... --csv results/real_scans.csv         # and rows
    python benchmarks/real_scans.py SCAN --weights brain_raw --adapt             # SO-Mamba, also adapted to the scan
    python benchmarks/real_scans.py SCAN --methods l1_wavelet so_mamba           # some methods only

The scans are fully sampled; masks leave columns out. Coil maps are estimated by ESPIRiT from the calibration lines that
the mask acquires, and the reference is the fully sampled scan combined with those same maps. The regularisation of each
classical method (cg_sense, l1_wavelet tuned, sigpy's) is chosen by a sweep, once for the best PSNR and once for the
best SSIM against the reference: an advantage no user has. ``l1_wavelet``, ``so_mamba`` (as somamba reconstruct has it),
``so_mamba network`` (without the last step) and ``so_mamba adapted`` see no truth. The acceleration counts the
calibration lines. What a scan does not allow is a line in the table, and the others go on.

The classical sweeps need sigpy (extra: dev).
"""

import argparse
import csv
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from somamba.errors import InputError, SomambaError
from somamba.evaluation.metrics import Scores, score
from somamba.inference.adaptation import adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.reconstruct import recover_slice, refinement_config
from somamba.inference.recovery import Method
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import open_weights
from somamba.models.classical.cg_sense import CGSense, CGSenseConfig
from somamba.models.classical.l1_wavelet import L1Wavelet, L1WaveletConfig
from somamba.models.refined import Refined
from somamba.models.zoo import build
from somamba.physics.operator import LinearOperator
from somamba.raw.opening import open_raw_scan

TIKHONOV = (1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.4)
WAVELET = (1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
ITERATIONS = 100
"""Of FISTA, sigpy's own default; conjugate gradients take 30."""


class Result(NamedTuple):
    """One method, at its best where there is something to choose."""

    method: str
    tuned_for: str
    strength: float | None
    scores: Scores
    seconds: float


def timed(trial: Preparation, name: str, run: Method, strength: float | None = None) -> Result:
    """One reconstruction of the first slice."""
    recovered = recover_slice(trial, 0, run)
    if recovered is None:
        raise InputError("There is no signal in the samples that were kept.")
    scores = score(np.abs(recovered.image), np.abs(recovered.whole()))
    return Result(name, "-", strength, scores, recovered.seconds)


def swept(
    trial: Preparation, name: str, strengths: Sequence[float], make: Callable[[float], Method]
) -> Iterator[Result]:
    """The strengths with the best PSNR and with the best SSIM."""
    results = [timed(trial, name, make(strength), strength) for strength in strengths]
    for metric in ("psnr", "ssim"):
        yield max(results, key=lambda result: getattr(result.scores, metric))._replace(tuned_for=metric)


def sigpy_method(app: str, trial: Preparation, iterations: int, strength: float) -> Method:
    """One of sigpy's reconstructions; its transform has our centre and our norm."""
    import sigpy.mri.app

    make: Any = getattr(sigpy.mri.app, app)
    prepared = trial.slice(0)
    if prepared is None or prepared.measured.maps is None or prepared.measured.maps.ndim > 3:
        raise InputError("sigpy's reconstructions want one set of coil maps.")
    maps = prepared.measured.maps.numpy()
    weights = prepared.measured.mask.expand(1, *maps.shape[1:]).numpy().astype("float32")

    def run(y: Tensor, _A: LinearOperator) -> Tensor:
        solver = make(y[0].numpy(), maps, lamda=strength, weights=weights, max_iter=iterations, show_pbar=False)
        return torch.from_numpy(solver.run())[None, None]

    return run


def classical(trial: Preparation, wavelet: Sequence[float]) -> Iterator[tuple[str, Callable[[], Iterator[Result]]]]:
    """Methods whose strength is tuned on the truth."""
    for app, strengths, iterations in (("SenseRecon", TIKHONOV, 30), ("L1WaveletRecon", wavelet, ITERATIONS)):
        make = partial(sigpy_method, app, trial, iterations)
        yield f"sigpy {app}", partial(swept, trial, f"sigpy {app}", strengths, make)
    yield "cg_sense", partial(swept, trial, "cg_sense", TIKHONOV, lambda s: CGSense(CGSenseConfig(strength=s)))
    # The project's own, with blocks that move, is stronger than sigpy's.
    sparse = partial(swept, trial, "l1_wavelet tuned", wavelet, lambda s: L1Wavelet(L1WaveletConfig(strengths=(s,))))
    yield "l1_wavelet tuned", sparse


def reconstructions(trial: Preparation, options: argparse.Namespace) -> Iterator[Result]:
    """Every method that was asked for, on one trial."""
    wanted = options.methods
    if wanted is None or "zero_filled" in wanted:
        yield timed(trial, "zero_filled", lambda y, A: A.adjoint(y))
    for name, run in classical(trial, options.wavelet):
        if wanted is None or name in wanted:
            yield from run()
    if wanted is None or "l1_wavelet" in wanted:
        yield timed(trial, "l1_wavelet", build("l1_wavelet"))
    if options.weights is None:
        return
    trained = open_weights(options.weights)
    timed(trial, "so_mamba network", trained.model)  # The first call chooses kernels.
    if wanted is None or "so_mamba network" in wanted:
        yield timed(trial, "so_mamba network", trained.model)
    if wanted is None or "so_mamba" in wanted:
        yield timed(trial, "so_mamba", Refined(trained.model))
    if options.adapt:
        began = time.perf_counter()
        adapted = adapt(Preparation(trial.scan, trained, trial.options), trained).trained
        seconds = time.perf_counter() - began
        found = timed(trial, "so_mamba adapted", Refined(adapted.model, refinement_config(adapted)))
        yield found._replace(seconds=found.seconds + seconds)


def trials(options: argparse.Namespace) -> Iterator[tuple[dict[str, object], Iterator[Result] | str]]:
    """Every scan under every mask: its results, or the reason why there are none."""
    zero_filled = open_weights("zero_filled")
    for path, acceleration, calibration in product(options.scans, options.acceleration, options.calibration):
        facts: dict[str, object] = {
            "scan": path.stem,
            "acceleration": acceleration,
            "lines": "-",
            "calibration": calibration,
        }
        try:
            scan = open_raw_scan(path)
            undersampling = Undersampling(acceleration=acceleration, calibration=calibration)
            trial = Preparation(scan, zero_filled, RecoveryOptions(undersampling=undersampling))
            facts["lines"] = len(undersampling.pattern(scan.shape, coils=scan.coils).lines or ())
            trial.slice(0)
            yield facts, reconstructions(trial, options)
        except SomambaError as error:
            yield facts, str(error)


def main() -> None:
    """Undersample, reconstruct, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scans", type=Path, nargs="+", help="fully sampled multi-coil scans; their first slice is used")
    parser.add_argument("--acceleration", type=float, nargs="+", default=[4.0, 8.0])
    parser.add_argument("--calibration", type=int, nargs="+", default=[24], help="calibration lines")
    parser.add_argument("--weights", help="bundled weights by name, or the folder of a checkpoint")
    parser.add_argument("--methods", nargs="+", help="only these, by the names in the table")
    parser.add_argument("--wavelet", type=float, nargs="+", default=WAVELET, help="strengths of the wavelet sweeps")
    parser.add_argument("--adapt", action="store_true", help="adapt the network to each scan too")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(options.threads)
    names = {str(path): path.name for path in options.scans}
    command = shlex.join(["python", "benchmarks/real_scans.py", *(names.get(word, word) for word in sys.argv[1:])])
    rows: list[dict[str, object]] = []
    heading = f"{'scan':<24} {'x':>3} {'lines':>5} {'calibration':>11}"
    print(f"{heading} {'method':<20} {'tuned':<5} {'lambda':>6}  PSNR   SSIM   seconds")
    for facts, results in trials(options):
        scan, acceleration, lines, calibration = facts.values()
        start = f"{scan:<24} {acceleration:>3g} {lines:>5} {calibration:>11}"
        if isinstance(results, str):
            print(f"{start} not possible: {results}", flush=True)
            continue
        for method, tuned, strength, scores, seconds in results:
            chosen = "-" if strength is None else f"{strength:g}"
            line = f"{start} {method:<20} {tuned:<5} {chosen:>6} {scores.psnr:5.2f} {scores.ssim:.4f} {seconds:7.3f}"
            print(line, flush=True)
            metrics = {name: f"{value:.6g}" for name, value in scores._asdict().items()}
            told = {"method": method, "tuned_for": tuned, "lambda": chosen, **metrics, "seconds": f"{seconds:.3f}"}
            rows.append({**facts, **told, "command": command})
        if options.csv is not None:
            write(options.csv, rows)


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write all rows so far: whoever interrupts a long sweep keeps what is done."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
