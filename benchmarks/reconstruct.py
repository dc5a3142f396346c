"""Time and memory of reconstructing one slice of the bundled scan (224x224, 13 coils compressed to 12).

    python benchmarks/reconstruct.py --threads 2             # stages of a plain reconstruction
    python benchmarks/reconstruct.py --threads 2 --adapt 3   # and what three steps of an adaptation say about sixty

Every stage is given in seconds, the best of several, and as a ratio to the network alone. Memory is the peak of the
process. Timings of a busy machine are upper bounds; ratios of one run can be compared.
"""

import argparse
import logging
import resource
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from somamba.cli.commands.demo import SAMPLE
from somamba.inference.adaptation import MOST_STEPS, Adaptation, adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.recovery import recover
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import open_weights
from somamba.models.refined import Refined
from somamba.physics.operator import LinearOperator
from somamba.raw.opening import open_raw_scan


def best_seconds(run: Callable[[], object], repeats: int) -> float:
    """The least time of several."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return min(found)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acceleration", type=float, default=4.0)
    parser.add_argument("--weights", default="brain_raw")
    parser.add_argument("--adapt", type=int, metavar="STEPS", help="time an adaptation of so many steps too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(options.threads)
    trained = open_weights(options.weights)
    undersampling = Undersampling(acceleration=options.acceleration)
    preparation = Preparation(open_raw_scan(SAMPLE), trained, RecoveryOptions(undersampling=undersampling))
    prepared = preparation.slice(0)
    if prepared is None:
        raise SystemExit("There is no signal in the sample.")
    measured, fixed = prepared.measured, Refined(trained.model)

    def choose(y: Tensor, A: LinearOperator) -> Tensor:
        fixed.fixed = fixed.strengths(y, A)
        return A.adjoint(y)

    recover(choose, measured)
    stages: dict[str, Callable[[], object]] = {
        "network": partial(recover, trained.model, measured),
        "coil maps and all else before it": partial(preparation.slice, 0),
        "network, last step with known strengths": partial(recover, fixed, measured),
        "network, last step": partial(recover, Refined(trained.model), measured),
    }
    seconds = {name: best_seconds(run, options.repeats) for name, run in stages.items()}
    seconds["one slice as it comes"] = seconds["coil maps and all else before it"] + seconds["network, last step"]
    further = seconds["coil maps and all else before it"] + seconds["network, last step with known strengths"]
    seconds["each further slice of a volume"] = further
    if options.adapt:
        found = adapt(preparation, trained, Adaptation(steps=options.adapt, check_every=options.adapt))
        seconds["a step of an adaptation"] = found.record["seconds"] / options.adapt
        seconds[f"{MOST_STEPS} steps, the most of --adapt auto"] = MOST_STEPS * seconds["a step of an adaptation"]
    print(f"{trained.name} ({options.weights}), x{options.acceleration:g}, {options.threads} threads")
    for name, one in seconds.items():
        print(f"{name:<42} {one:8.3f} s {one / seconds['network']:7.2f} x network")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
