"""Time training steps of SO-Mamba beside those of another version of somamba, and weigh one.

python benchmarks/training.py [--task paper|raw] [--other PYTHON] [--threads 2] [--rounds 5] [--memory]

``--other`` is the Python of an environment with another version installed, for example commit 1b56e60: both versions
then take steps in turn, each in a process of its own, and the best of several counts. ``ideal`` is the time that three
forward passes' module MACs would take at the rate of a 2048^3 product measured in the same run.

The tasks: ``paper`` is the paper's network and two slices of 128x128; ``raw`` is the network of
``recipes/brain_raw.yaml`` and one slice of 192x192 from eight coils.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.native.memory import keep_pages
from somamba.physics.encoding import encoding
from somamba.physics.masks import make_mask
from somamba.physics.operator import LinearOperator

SIZES = {"paper": 128, "raw": 192}
SLICES = {"paper": 2, "raw": 1}
COILS = 8


def network(task: str) -> SOMamba:
    """The network of a task, with every weight that starts at zero moved away from it."""
    torch.manual_seed(0)
    config = SOMambaConfig()
    if task == "raw":
        config = replace(
            config, groups=4, channels=96, d_model=48, mixer=MixerConfig(d_head=32), consistency="proximal"
        )
        # Versions name these fields differently.
        old = "gradients" in SOMambaConfig.__dataclass_fields__
        names = ("gradients", "gradients_tolerance") if old else ("cg_iterations", "cg_tolerance")
        solved: dict[str, Any] = dict(zip(names, (8, 1e-2), strict=True))
        config = replace(config, **solved)
    model = SOMamba(config)
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    return model


def measurement(task: str) -> tuple[Tensor, LinearOperator]:
    """Random slices, undersampled four times; for ``raw`` seen by coils whose squared maps add up to one."""
    size, slices, rng = SIZES[task], SLICES[task], torch.Generator().manual_seed(0)
    mask = make_mask("equispaced", shape=(size, size), acceleration=4).tensor()
    image = torch.randn(slices, 1, size, size, dtype=torch.complex64, generator=rng)
    if task == "paper":
        A = encoding(mask)
        return A(image), A
    maps = torch.randn(slices, COILS, 6, 6, dtype=torch.complex64, generator=rng)
    smooth = [
        torch.nn.functional.interpolate(part, size=(size, size), mode="bilinear") for part in (maps.real, maps.imag)
    ]
    maps = torch.complex(*smooth)
    A = encoding(mask, maps / maps.abs().square().sum(dim=1, keepdim=True).sqrt())
    return A(image), A


def step(task: str) -> Callable[[], None]:
    """One forward and backward pass, to be called."""
    model, (y, A) = network(task).train(), measurement(task)

    def run() -> None:
        model.zero_grad()
        model(y, A).abs().mean().backward()

    return run


def memory_of(task: str) -> float:
    """Megabytes that one step adds to this process, which should have done nothing else before."""
    from somamba.evaluation.cost.memory import added_megabytes

    return added_megabytes(step(task))


def work(task: str) -> None:
    """Take a step for every line that comes in, and answer with seconds on the clock and of the processor."""
    keep_pages(4096)  # as `somamba train` does
    run = step(task)
    run()
    run()
    print("ready", flush=True)
    for _line in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        run()
        print(time.perf_counter() - start, time.process_time() - used, flush=True)


class Worker:
    """A process that takes steps when it is told to."""

    def __init__(self, python: str, task: str, threads: int) -> None:
        command = [python, __file__, "--work", "--task", task, "--threads", str(threads)]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()
        self.best = [float("inf"), float("inf")]

    def run(self) -> None:
        """Take one step; the best so far counts."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds = map(float, self._answer().split())
        self.best = [min(pair) for pair in zip(self.best, seconds, strict=True)]

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"A process that takes steps ended with {self.process.wait()}.")
        return line


def report(options: argparse.Namespace) -> None:
    """Time both versions and print their ratios."""
    # Of this version alone: the processes that take steps may belong to another.
    from timing import gemm_task

    from somamba.evaluation.cost.counted import measure_cost

    product, gemm, task = gemm_task(), [float("inf"), float("inf")], options.task
    workers = {"this version": Worker(sys.executable, task, options.threads)}
    if options.other:
        workers["other version"] = Worker(options.other, task, options.threads)
    for _ in range(options.rounds):
        start, used = time.perf_counter(), time.process_time()
        product()
        gemm = [min(gemm[0], time.perf_counter() - start), min(gemm[1], time.process_time() - used)]
        for worker in workers.values():
            worker.run()
    for worker in workers.values():
        worker.close()
    size, slices = (SIZES[task], SIZES[task]), SLICES[task]
    macs = 3 * slices * measure_cost(network(task), size).module
    print(f"{task}: {slices} x {size[0]}x{size[1]}, {options.threads} threads, best of {options.rounds}")
    for i, kind in enumerate(("on the clock", "of the processor")):
        rate = 2 * 2048**3 / gemm[i]
        print(f"seconds {kind}; matrix product 2048^3: {rate / 1e9:.0f} GFLOP/s")
        for name, worker in workers.items():
            seconds = worker.best[i]
            print(f"  {name:16}{seconds:8.3f} s a step   {seconds / (2 * macs / rate):5.2f} times the ideal")
        if options.other:
            ratio = workers["other version"].best[i] / workers["this version"].best[i]
            print(f"  {ratio:.2f} times the steps of the other version")


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=SIZES, default="paper")
    parser.add_argument("--other", help="Python of an environment with another version of somamba")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="also weigh one step in a fresh process")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.work:
        work(options.task)
        return
    report(options)
    if options.memory:
        from somamba.evaluation.cost.memory import in_child

        code = f"import training; print(training.memory_of({options.task!r}))"
        print(f"memory added by a step: {in_child(code, options.threads):.0f} MB")


if __name__ == "__main__":
    main()
