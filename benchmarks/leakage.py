"""Time and weigh the leakage diagnostic on one slice, in multiples of a plain inference of the same network.

python benchmarks/leakage.py [--size 320] [--threads 2] [--rounds 3]

Memory is what one slice adds to a fresh process with the weights loaded, at its peak.
"""

import argparse
from collections.abc import Callable

import torch
from network import inference, network

from somamba.evaluation.cost.measured import random_measurement
from somamba.evaluation.cost.memory import added_megabytes, in_child
from somamba.evaluation.cost.timing import alternate
from somamba.evaluation.leakage import LeakageConfig, trace_leakage
from somamba.evaluation.trace import ScanTrace, record_scans
from somamba.models.base import Reconstructor

BACKENDS = ("auto", "chunked")


def diagnostic(model: Reconstructor, size: int, backend: str) -> Callable[[], None]:
    """HLeak and RLeak of every unit."""
    y, A = random_measurement((size, size))
    config = LeakageConfig(backend=backend)

    def measure(trace: ScanTrace) -> None:
        trace_leakage(trace, config)

    def task() -> None:
        with torch.no_grad(), record_scans(model, measure):
            model.eval()(y, A)

    return task


def memory_of(size: int, backend: str) -> float:
    """What the diagnostic adds to this process."""
    model = network()
    diagnostic(model, 32, backend)()  # libraries load what they need
    return added_megabytes(diagnostic(model, size, backend))


def main() -> None:
    """Parse, time, weigh, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = network()
    tasks: dict[str, Callable[[], object]] = {"inference": inference(model, options.size)}
    tasks |= {backend: diagnostic(model, options.size, backend) for backend in BACKENDS}
    best = alternate(tasks, options.rounds)
    print(f"{options.size}x{options.size}, {options.threads} threads, best of {options.rounds}")
    print(f"inference                   {best['inference']:8.3f} s")
    for backend in BACKENDS:
        code = f"import leakage; print(leakage.memory_of({options.size}, {backend!r}))"
        megabytes = in_child(code, options.threads)
        ratio = best[backend] / best["inference"]
        print(f"leakage, states by {backend:9}{best[backend]:8.3f} s   {ratio:5.1f} inferences   {megabytes:5.0f} MB")


if __name__ == "__main__":
    main()
