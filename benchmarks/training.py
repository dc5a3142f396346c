"""Time training steps of SO-Mamba beside those of another version of somamba, and weigh one.

python benchmarks/training.py [--task paper|raw] [--other PYTHON] [--ways 1x1 1x2 2x1] [--rounds 5] [--memory]

``--other`` is the Python of an environment with another version installed, for example commit 1b56e60: both versions
then take steps in turn, each in processes of its own, and the best of several counts. A way is a number of processes
times a number of threads in each, all of them bound to cores of their own; several processes share the slices of a
step, or take one each, and add up their gradients as a training does. ``ideal`` is the time that three forward passes'
module MACs would take at the rate of a 2048^3 product measured in the same run with as many threads as the way has in
all.

The tasks: ``paper`` is the paper's network and two slices of 128x128; ``raw`` is the network of
``recipes/brain_raw.yaml`` and one slice of 192x192 from eight coils.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, distributed

from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.native.memory import keep_pages
from somamba.physics.encoding import encoding
from somamba.physics.masks import make_mask
from somamba.physics.operator import LinearOperator

SIZES = {"paper": 128, "raw": 192}
SLICES = {"paper": 2, "raw": 1}
PRODUCT = "product"
"""The matrix product with which the steps of the other tasks are compared."""
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


def measurement(task: str, slices: int) -> tuple[Tensor, LinearOperator]:
    """Random slices, undersampled four times; for ``raw`` seen by coils whose squared maps add up to one."""
    size, rng = SIZES[task], torch.Generator().manual_seed(0)
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


def step(task: str, slices: int) -> Callable[[], object]:
    """One forward and backward pass, to be called; gradients are added up where there are several processes."""
    if task == PRODUCT:
        from timing import gemm_task

        return gemm_task()
    model, (y, A) = network(task).train(), measurement(task, slices)

    def run() -> None:
        model.zero_grad()
        model(y, A).abs().mean().backward()
        if distributed.is_initialized():
            flat = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
            distributed.all_reduce(flat)

    return run


def memory_of(task: str) -> float:
    """Megabytes that one step adds to this process, which should have done nothing else before."""
    from somamba.evaluation.cost.memory import added_megabytes

    return added_megabytes(step(task, SLICES[task]))


def work(task: str, slices: int) -> None:
    """Take a step for every line that comes in, and answer with seconds on the clock and of the processor."""
    keep_pages(4096)  # as `somamba train` does
    if "WORLD_SIZE" in os.environ:
        distributed.init_process_group("gloo")
    run = step(task, slices)
    run()
    run()
    print("ready", flush=True)
    for _line in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        run()
        print(time.perf_counter() - start, time.process_time() - used, flush=True)


@dataclass(frozen=True)
class Way:
    """How many processes take a step together, and the threads of each."""

    processes: int
    threads: int

    @classmethod
    def parse(cls, text: str) -> "Way":
        """Read ``2x1``."""
        processes, _, threads = text.partition("x")
        return cls(int(processes), int(threads))

    def slices_each(self, task: str) -> int:
        """Slices that a process takes."""
        return max(1, SLICES.get(task, 1) // self.processes)

    def slices(self, task: str) -> int:
        """Slices of a step."""
        return self.processes * self.slices_each(task)

    def __str__(self) -> str:
        return f"{self.processes} x {self.threads}"


def bound_to(cores: Sequence[int]) -> dict[str, str]:
    """The environment in which OpenMP binds one thread to each of these cores; some machines pack threads onto one."""
    return {"OMP_PROC_BIND": "true", "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores)}


class Team:
    """Processes that take steps when they are told to."""

    def __init__(self, python: str, task: str, way: Way) -> None:
        command = [python, __file__, "--work", str(way.slices_each(task)), "--task", task, "--ways", f"1x{way.threads}"]
        shared = os.environ | {"OMP_NUM_THREADS": str(way.threads)}
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < way.processes * way.threads:
            raise SystemExit(f"{way} threads need as many cores, and this process may use {len(cores)}.")
        if way.processes > 1:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(way.processes)}
        self.processes = [
            subprocess.Popen(
                command,
                env=shared | {"RANK": str(rank)} | bound_to(cores[rank * way.threads : (rank + 1) * way.threads]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(way.processes)
        ]
        self._answers()
        self.best = [float("inf"), float("inf")]

    def run(self) -> None:
        """Take one step. The slowest process counts on the clock, all of them of the processor, and then the best."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        clock, used = zip(*(map(float, answer.split()) for answer in self._answers()), strict=True)
        self.best = [min(self.best[0], max(clock)), min(self.best[1], sum(used))]

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self.processes:
            process.wait()

    def _answers(self) -> list[str]:
        lines = []
        for process in self.processes:
            assert process.stdout is not None
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise SystemExit(f"A process that takes steps ended with {process.wait()}.")
        return lines


def report(options: argparse.Namespace) -> None:
    """Time both versions, every way, and print how they compare."""
    from somamba.evaluation.cost.counted import measure_cost

    task, ways = options.task, [Way.parse(text) for text in options.ways]
    versions = {"this version": sys.executable} | ({"other version": options.other} if options.other else {})
    teams = {(name, way): Team(python, task, way) for way in ways for name, python in versions.items()}
    threads = sorted({way.processes * way.threads for way in ways})
    products = {number: Team(sys.executable, PRODUCT, Way(1, number)) for number in threads}
    everyone = [*products.values(), *teams.values()]
    for _ in range(options.rounds):
        for team in everyone:
            team.run()
    for team in everyone:
        team.close()
    size = (SIZES[task], SIZES[task])
    macs = 3 * measure_cost(network(task), size).module
    print(f"{task}: slices of {size[0]}x{size[1]}, best of {options.rounds}; processes x threads")
    for i, kind in enumerate(("on the clock", "of the processor")):
        print(f"seconds {kind}")
        for number, product in products.items():
            print(f"  matrix product 2048^3, {number} threads: {2 * 2048**3 / product.best[i] / 1e9:.0f} GFLOP/s")
        for (name, way), team in teams.items():
            ideal = macs / 2048**3 * products[way.processes * way.threads].best[i]
            seconds, slices = team.best[i], way.slices(task)
            print(
                f"  {name:14} {way}: {slices} slices in {seconds:.3f} s, {seconds / slices / ideal:.2f} times the ideal"
            )


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=[*SIZES, PRODUCT], default="paper")
    parser.add_argument("--other", help="Python of an environment with another version of somamba")
    parser.add_argument("--ways", nargs="+", default=["1x2"], help="processes x threads, for example 1x1 1x2 2x1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="also weigh one step in a fresh process")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = Way.parse(options.ways[0]).threads
    torch.set_num_threads(threads)
    if options.work:
        work(options.task, options.work)
        return
    report(options)
    if options.memory:
        from somamba.evaluation.cost.memory import in_child

        code = f"import training; print(training.memory_of({options.task!r}))"
        print(f"memory added by a step: {in_child(code, threads):.0f} MB")


if __name__ == "__main__":
    main()
