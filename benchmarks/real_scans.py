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
calibration lines. A method that a scan does not allow, or a mask that is not possible, is a line in the table that
says why; the others go on. The rows of a network name its ``weights`` by the digest that ``somamba evaluate`` gives;
that of ``so_mamba adapted`` is the digest of the weights before they were adapted.

The classical sweeps need sigpy (extra: dev).
"""

import argparse
import csv
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from somamba.errors import InputError, SomambaError
from somamba.evaluation.metrics import Scores, score
from somamba.inference.adaptation import adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.reconstruct import method_of, recover_slice
from somamba.inference.recovery import Method
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import Trained, open_weights
from somamba.models.classical.cg_sense import CGSense, CGSenseConfig
from somamba.models.classical.l1_wavelet import L1Wavelet, L1WaveletConfig
from somamba.models.soft_sense import SoftSense
from somamba.models.zoo import build
from somamba.physics.operator import LinearOperator
from somamba.raw.opening import open_raw_scan

TIKHONOV = (1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.4)
WAVELET = (1e-4, 3e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 5e-3, 7e-3, 1e-2, 2e-2)
ITERATIONS = 100
"""Of FISTA, sigpy's own default; conjugate gradients take 30."""


class Result(NamedTuple):
    """One method, at its best where there is something to choose."""

    method: str
    tuned_for: str
    strength: float | None
    scores: Scores
    seconds: float
    weights: str = ""
    """Digest of the network's weights; empty for a method without."""


class NotPossible(NamedTuple):
    """One method that a scan does not allow."""

    method: str
    reason: str


Runs = Iterator[tuple[str, Callable[[], Iterable[Result]]]]
"""Methods by their names; none has run yet."""


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
    prepared = trial.slice(0)
    if prepared is None or prepared.measured.maps is None or prepared.measured.maps.ndim > 3:
        raise InputError("sigpy's reconstructions want one set of coil maps.")
    import sigpy.mri.app

    make: Any = getattr(sigpy.mri.app, app)
    maps = prepared.measured.maps.numpy()
    weights = prepared.measured.mask.expand(1, *maps.shape[1:]).numpy().astype("float32")

    def run(y: Tensor, _A: LinearOperator) -> Tensor:
        solver = make(y[0].numpy(), maps, lamda=strength, weights=weights, max_iter=iterations, show_pbar=False)
        return torch.from_numpy(solver.run())[None, None]

    return run


def classical(trial: Preparation, wavelet: Sequence[float]) -> Runs:
    """Methods without weights; the strength of most is tuned on the truth."""
    yield "zero_filled", lambda: [timed(trial, "zero_filled", lambda y, A: A.adjoint(y))]
    for app, strengths, iterations in (("SenseRecon", TIKHONOV, 30), ("L1WaveletRecon", wavelet, ITERATIONS)):
        make = partial(sigpy_method, app, trial, iterations)
        yield f"sigpy {app}", partial(swept, trial, f"sigpy {app}", strengths, make)
    yield "cg_sense", partial(swept, trial, "cg_sense", TIKHONOV, lambda s: CGSense(CGSenseConfig(strength=s)))
    # The project's own, with blocks that move, is stronger than sigpy's.
    sparse = partial(swept, trial, "l1_wavelet tuned", wavelet, lambda s: L1Wavelet(L1WaveletConfig(strengths=(s,))))
    yield "l1_wavelet tuned", sparse
    yield "l1_wavelet", lambda: [timed(trial, "l1_wavelet", build("l1_wavelet"))]


def networks(trial: Preparation, trained: Trained, *, adapting: bool) -> Runs:
    """The network alone, as ``somamba reconstruct`` has it, and adapted; it prepares the scan for itself."""

    def prepared() -> Preparation:
        return Preparation(trial.acquired, trained, trial.options)

    def run(name: str, make: Callable[[Preparation], Method]) -> list[Result]:
        own = prepared()
        return [timed(own, name, make(own))._replace(weights=trained.weights)]

    def adapted() -> list[Result]:
        own, began = prepared(), time.perf_counter()
        found = adapt(own, trained).trained
        seconds = time.perf_counter() - began
        result = timed(own, "so_mamba adapted", method_of(own, found))
        return [result._replace(seconds=result.seconds + seconds, weights=trained.weights)]

    with suppress(SomambaError):  # The first call chooses kernels; a scan that is not allowed is told below.
        run("so_mamba network", lambda _own: SoftSense(trained.model))
    yield "so_mamba network", lambda: run("so_mamba network", lambda _own: SoftSense(trained.model))
    yield "so_mamba", lambda: run("so_mamba", lambda own: method_of(own, trained))
    if adapting:
        yield "so_mamba adapted", adapted


def reconstructions(
    trial: Preparation, trained: Trained | None, options: argparse.Namespace
) -> Iterator[Result | NotPossible]:
    """Every method that was asked for, on one trial; one that is not possible does not stop the others."""
    methods = chain(
        classical(trial, options.wavelet),
        () if trained is None else networks(trial, trained, adapting=options.adapt),
    )
    for name, run in methods:
        if options.methods is None or name in options.methods or name == "so_mamba adapted":
            try:
                yield from run()
            except SomambaError as error:
                yield NotPossible(name, str(error))


def trials(
    options: argparse.Namespace, trained: Trained | None
) -> Iterator[tuple[dict[str, object], Iterator[Result | NotPossible] | str]]:
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
        except SomambaError as error:
            yield facts, str(error)
        else:
            yield facts, reconstructions(trial, trained, options)


def arguments() -> argparse.ArgumentParser:
    """The parser of the command line."""
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
    return parser


def main() -> None:
    """Undersample, reconstruct, print, write."""
    parser = arguments()
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(options.threads)
    try:
        trained = None if options.weights is None else open_weights(options.weights)
    except SomambaError as error:
        parser.error(str(error))
    names = {str(path): path.name for path in options.scans}
    command = shlex.join(["python", "benchmarks/real_scans.py", *(names.get(word, word) for word in sys.argv[1:])])
    rows: list[dict[str, object]] = []
    heading = f"{'scan':<24} {'x':>3} {'lines':>5} {'calibration':>11}"
    print(f"{heading} {'method':<20} {'tuned':<5} {'lambda':>6}  PSNR   SSIM   seconds")
    for facts, results in trials(options, trained):
        scan, acceleration, lines, calibration = facts.values()
        start = f"{scan:<24} {acceleration:>3g} {lines:>5} {calibration:>11}"
        if isinstance(results, str):
            print(f"{start} not possible: {results}", flush=True)
            continue
        for result in results:
            if isinstance(result, NotPossible):
                print(f"{start} {result.method:<20} not possible: {result.reason}", flush=True)
            else:
                print(f"{start} {cells(result)}", flush=True)
                rows.append({**facts, **told(result), "command": command})
        if options.csv is not None and rows:
            write(options.csv, rows)


def strength_of(result: Result) -> str:
    """The strength as the table and the rows have it."""
    return "-" if result.strength is None else f"{result.strength:g}"


def cells(result: Result) -> str:
    """One result as a line of the table."""
    scores = f"{result.scores.psnr:5.2f} {result.scores.ssim:.4f} {result.seconds:7.3f}"
    return f"{result.method:<20} {result.tuned_for:<5} {strength_of(result):>6} {scores}"


def told(result: Result) -> dict[str, object]:
    """One result as a row of the CSV file, without scan and command."""
    metrics = {name: f"{value:.6g}" for name, value in result.scores._asdict().items()}
    chosen = {"method": result.method, "tuned_for": result.tuned_for, "lambda": strength_of(result)}
    return {**chosen, **metrics, "seconds": f"{result.seconds:.3f}", "weights": result.weights}


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write all rows so far: whoever interrupts a long sweep keeps what is done."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
