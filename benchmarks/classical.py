"""Classical reconstructions of a real multi-coil scan, on the same samples and with the same coil maps.

    python benchmarks/classical.py SCAN                                # table
    python benchmarks/classical.py SCAN --csv results/classical.csv    # and rows
    python benchmarks/classical.py SCAN --weights brain_raw            # SO-Mamba beside them

The scan is fully sampled; masks leave columns out. Coil maps are estimated by ESPIRiT from the calibration lines that
the mask acquires, and the reference is the fully sampled scan combined with those same maps. The regularisation of each
classical method is chosen by a sweep, once for the best PSNR and once for the best SSIM against the reference: an
advantage no user has. The acceleration counts the calibration lines.

Needs sigpy (extra: dev).
"""

import argparse
import csv
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from somamba.errors import InputError
from somamba.evaluation.metrics import Scores, score
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.raw.opening import open_raw_scan
from somamba.inference.reconstruct import recover_slice
from somamba.inference.recovery import Method
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights import open_weights
from somamba.models.cg_sense import CGSense, CGSenseConfig
from somamba.physics.operator import LinearOperator

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
    if prepared is None or prepared.measured.maps is None:
        raise InputError("sigpy's reconstructions want coil maps.")
    maps = prepared.measured.maps.numpy()
    weights = prepared.measured.mask.expand(1, *maps.shape[1:]).numpy().astype("float32")

    def run(y: Tensor, _A: LinearOperator) -> Tensor:
        solver = make(y[0].numpy(), maps, lamda=strength, weights=weights, max_iter=iterations, show_pbar=False)
        return torch.from_numpy(solver.run())[None, None]

    return run


def reconstructions(trial: Preparation, weights: str | None) -> Iterator[Result]:
    """Every method on one trial."""
    yield timed(trial, "zero_filled", lambda y, A: A.adjoint(y))
    yield from swept(trial, "cg_sense", TIKHONOV, lambda strength: CGSense(CGSenseConfig(strength=strength)))
    for app, strengths, iterations in (("SenseRecon", TIKHONOV, 30), ("L1WaveletRecon", WAVELET, ITERATIONS)):
        yield from swept(trial, f"sigpy {app}", strengths, partial(sigpy_method, app, trial, iterations))
    if weights is not None:
        model = open_weights(weights).model
        timed(trial, "so_mamba", model)  # The first call chooses kernels.
        yield timed(trial, "so_mamba", model)


def main() -> None:
    """Undersample, reconstruct, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scan", type=Path, help="a fully sampled multi-coil scan; its first slice is used")
    parser.add_argument("--acceleration", type=float, nargs="+", default=[4.0, 8.0])
    parser.add_argument("--calibration", type=int, nargs="+", default=[24], help="calibration lines")
    parser.add_argument("--weights", help="bundled weights by name, or the folder of a checkpoint")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(options.threads)
    scan, zero_filled = open_raw_scan(options.scan), open_weights("zero_filled")
    words = [options.scan.name if word == str(options.scan) else word for word in sys.argv[1:]]
    command = shlex.join(["python", "benchmarks/classical.py", *words])
    rows: list[dict[str, object]] = []
    print(f"{'x':>3} {'lines':>5} {'calibration':>11} {'method':<20} {'tuned':<5} {'lambda':>6}  PSNR   SSIM   seconds")
    for acceleration, calibration in product(options.acceleration, options.calibration):
        undersampling = Undersampling(acceleration=acceleration, calibration=calibration)
        trial = Preparation(scan, zero_filled, RecoveryOptions(undersampling=undersampling))
        lines = len(undersampling.pattern(scan.shape, coils=scan.coils).lines or ())
        for method, tuned, strength, scores, seconds in reconstructions(trial, options.weights):
            chosen = "-" if strength is None else f"{strength:g}"
            start = f"{acceleration:>3g} {lines:>5} {calibration:>11} {method:<20} {tuned:<5} {chosen:>6}"
            print(f"{start} {scores.psnr:5.2f} {scores.ssim:.4f} {seconds:7.3f}", flush=True)
            rows.append(
                {
                    "scan": options.scan.stem,
                    "acceleration": acceleration,
                    "lines": lines,
                    "calibration": calibration,
                    "method": method,
                    "tuned_for": tuned,
                    "lambda": chosen,
                    **{name: f"{value:.6g}" for name, value in scores._asdict().items()},
                    "seconds": f"{seconds:.3f}",
                    "command": command,
                }
            )
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
