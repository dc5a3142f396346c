"""Time and memory of reconstructing one slice of the bundled scan (224x224, 13 coils compressed to 12).

    python benchmarks/reconstruct.py --threads 2                       # stages of a plain reconstruction
    python benchmarks/reconstruct.py --threads 2 --adapt               # and one slice with --adapt auto
    python benchmarks/reconstruct.py --threads 2 --adapt --volume 20   # and a volume of so many slices

Every stage is given in seconds and in seconds of the processor, added over its cores, the best of several; and as a
ratio of the latter to one slice as it comes. Seconds of a busy machine are upper bounds, those of the processor hold
there too. Memory is the peak of the process, with torch and the program itself.
"""

import argparse
import logging
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from somamba.cli.commands.demo import SAMPLE
from somamba.inference.adaptation import Adaptation
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.reconstruct import reconstruct
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.recovery import recover
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import Trained, open_weights
from somamba.models.refined import Refined
from somamba.physics.operator import LinearOperator
from somamba.raw.formats.in_memory import raw_scan_of
from somamba.raw.opening import open_raw_scan
from somamba.raw.raw_scan import RawScan


class Taken(NamedTuple):
    """How long something took."""

    seconds: float
    processor: float


def taken(run: Callable[[], object], repeats: int = 1) -> Taken:
    """The least times of several."""
    found = []
    for _ in range(repeats):
        began, worked = time.perf_counter(), time.process_time()
        run()
        found.append(Taken(time.perf_counter() - began, time.process_time() - worked))
    return Taken(min(one.seconds for one in found), min(one.processor for one in found))


def peak_memory() -> str:
    """The most memory that the process has held so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"


def stages(preparation: Preparation, trained: Trained, repeats: int) -> dict[str, Taken]:
    """A plain reconstruction and its parts."""
    prepared = preparation.slice(0)
    if prepared is None:
        raise SystemExit("There is no signal in the sample.")
    measured, fixed = prepared.measured, Refined(trained.model)

    def choose(y: Tensor, A: LinearOperator) -> Tensor:
        fixed.fixed = fixed.strengths(y, A)
        return A.adjoint(y)

    recover(choose, measured)
    runs: dict[str, Callable[[], object]] = {
        "network": partial(recover, trained.model, measured),
        "coil maps and all else before it": partial(preparation.slice, 0),
        "network, last step with known strengths": partial(recover, fixed, measured),
        "network, last step": partial(recover, Refined(trained.model), measured),
        "one slice as it comes": partial(reconstruct, preparation.scan, trained, preparation.options),
    }
    found = {name: taken(run, repeats) for name, run in runs.items()}
    before, behind = found["coil maps and all else before it"], found["network, last step with known strengths"]
    return {**found, "each further slice of a volume": Taken(*(a + b for a, b in zip(before, behind, strict=True)))}


def adapted(name: str, scan: RawScan, trained: Trained, options: RecoveryOptions) -> dict[str, Taken]:
    """A reconstruction with ``--adapt auto``, all of it."""
    made: list[Reconstruction] = []
    times = taken(lambda: made.append(reconstruct(scan, trained, options, adaptation=Adaptation())))
    return {f"{name}, --adapt auto, {made[0].provenance['adaptation']['steps_done']} steps": times}


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acceleration", type=float, default=4.0)
    parser.add_argument("--weights", default="brain_raw")
    parser.add_argument("--adapt", action="store_true", help="time one slice with --adapt auto too")
    parser.add_argument("--volume", type=int, metavar="SLICES", help="time --adapt auto for a volume of so many slices")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(options.threads)
    trained = open_weights(options.weights)
    recovery = RecoveryOptions(undersampling=Undersampling(acceleration=options.acceleration))
    scan = open_raw_scan(SAMPLE)
    print(f"{trained.name} ({options.weights}), x{options.acceleration:g}, {options.threads} threads")
    found = stages(Preparation(scan, trained, recovery), trained, options.repeats)
    plain = found["one slice as it comes"].processor

    def tell(found: dict[str, Taken]) -> None:
        for name, (seconds, processor) in found.items():
            print(f"{name:<42} {seconds:8.3f} s {processor:8.3f} s {processor / plain:7.2f} x one slice", flush=True)

    tell(found)
    print(f"peak memory of these {peak_memory()}", flush=True)
    if options.adapt:
        tell(adapted("one slice", scan, trained, recovery))
    if options.volume:
        kspace = np.stack([scan.kspace(0).numpy()] * options.volume)
        volume = raw_scan_of(kspace, axes=("slices", "coils", "y", "x"), centred=True)
        tell(adapted(f"{options.volume} slices", volume, trained, recovery))
    print(f"peak memory {peak_memory()}")


if __name__ == "__main__":
    main()
