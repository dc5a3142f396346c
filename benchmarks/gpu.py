"""Measure everything about one GPU: parity, time and memory of scans, unit, network and training step by backend.

python benchmarks/gpu.py [--size 320] [--batch 1] [--rounds 5] [--backends triton fused compiled chunked]

Run it once and send the table; nothing of the CUDA path has been run by the developers. Candidates run in turn in one
process; the best of several rounds counts. Without a CUDA device it says so and ends with exit code 1.
"""

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import replace

import selective
import torch

from scan import forward_task, on_device, paper_inputs, synchronised, training_task
from somamba.evaluation.cost.timing import alternate
from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.unit import Unit
from somamba.physics.encoding import encoding
from somamba.physics.masks import equispaced
from somamba.scan.backends import BACKENDS, Request
from somamba.scan.choice import Backends
from somamba.scan.selective.backends import BACKENDS as SELECTIVE
from somamba.scan.selective.inputs import SelectiveInputs

Task = Callable[[], object]


def peak_megabytes(task: Task) -> float:
    """Return the device memory that a task adds at its highest point."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    task()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def network_tasks(backend: str, size: int, batch: int) -> dict[str, Task]:
    """Return one unit, one inference and one training step of the paper's network with a backend."""
    config = SOMambaConfig()
    network = SOMamba(replace(config, mixer=replace(config.mixer, backend=backend))).cuda()
    A = encoding(equispaced(size, acceleration=4).tensor().cuda())
    y = A(torch.randn(batch, 1, size, size, dtype=torch.complex64, device="cuda"))
    unit = next(module for module in network.modules() if isinstance(module, Unit))
    features = torch.randn(batch, size // config.patch, size // config.patch, config.channels, device="cuda")
    optimiser = torch.optim.AdamW(network.parameters(), fused=True)

    def infer(module: torch.nn.Module, *arguments: object) -> Task:
        def task() -> object:
            with torch.no_grad():
                return module(*arguments)

        return task

    def step() -> object:
        optimiser.zero_grad(set_to_none=True)
        network(y, A).abs().mean().backward()
        return optimiser.step()

    def inference() -> object:
        network.eval()
        return infer(network, y, A)()

    return {"unit": infer(unit, features), "inference": inference, "training step": step}


def main() -> None:
    """Parse, measure, print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backends", nargs="+", default=["triton", "fused", "compiled", "chunked"])
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no CUDA device, so there is nothing to measure.", file=sys.stderr)
        sys.exit(1)
    properties = torch.cuda.get_device_properties(0)
    print(
        f"{properties.name}, {properties.multi_processor_count} multiprocessors, {properties.total_memory >> 30} GiB, "
    )
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {platform.python_version()}")
    print(f"{options.size}x{options.size}, batch {options.batch}, float32, best of {options.rounds}\n")
    measure_scan(options)
    measure_selective(options)


def state(table: Backends, name: str, request: Request) -> tuple[bool, str]:
    """Tell whether a backend runs, and how far it is off or why it does not run."""
    if reason := table.why_not(name, request):
        return False, reason
    parity = table.parity(name, request.device, request.index, request.sizes)
    return True, "" if parity is None else f"{max(parity.readout, parity.gradient):.1e}"


def measure_scan(options: argparse.Namespace) -> None:
    """Print the table of the Mamba-3 scan and of SO-Mamba with it."""
    print("| backend | off by | scan ms | scan + gradients ms | unit ms | inference ms | training step ms | MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    tokens = (options.size // SOMambaConfig().patch) ** 2
    for name in options.backends:
        runs, words = state(BACKENDS, name, Request(device="cuda", sizes=(4, 16, 64, 4), index=0))
        if not runs:
            print(f"| {name} | {words} | | | | | | |")
            continue
        plain, leaves = (
            on_device(paper_inputs(options.batch, tokens, gradients=gradients), "cuda") for gradients in (False, True)
        )
        tasks = {"scan": forward_task(name, plain), "scan + gradients": training_task(name, leaves)}
        tasks |= network_tasks(name, options.size, options.batch)
        memory = peak_megabytes(tasks["training step"])
        best = alternate({label: synchronised(task) for label, task in tasks.items()}, options.rounds)
        times = " | ".join(f"{1e3 * best[label]:.2f}" for label in tasks)
        print(f"| {name} | {words} | {times} | {memory:.0f} |")


def measure_selective(options: argparse.Namespace) -> None:
    """Print the table of the selective scan: 128 channels, state 16, as many tokens."""
    print("\n| selective backend | off by | scan ms | scan + gradients ms | MB |")
    print("|---|--:|--:|--:|--:|")
    tokens = (options.size // SOMambaConfig().patch) ** 2
    for name in SELECTIVE:
        if name == "reference":
            continue
        runs, words = state(SELECTIVE, name, Request(device="cuda", sizes=(16,), index=0))
        if not runs:
            print(f"| {name} | {words} | | | |")
            continue
        plain, leaves = (
            selective_on_cuda(selective.mamba_inputs(options.batch, tokens, 128, 16, gradients=gradients))
            for gradients in (False, True)
        )
        tasks = {"scan": selective.forward_task(name, plain), "gradients": selective.training_task(name, leaves)}
        memory = peak_megabytes(tasks["gradients"])
        best = alternate({label: synchronised(task) for label, task in tasks.items()}, options.rounds)
        print(f"| {name} | {words} | {1e3 * best['scan']:.2f} | {1e3 * best['gradients']:.2f} | {memory:.0f} |")


def selective_on_cuda(inputs: SelectiveInputs) -> SelectiveInputs:
    """Return the same arguments on the GPU, leaves again."""
    wanted = inputs.u.requires_grad
    return SelectiveInputs(*(tensor.detach().cuda().requires_grad_(wanted) for tensor in inputs.tensors()))


if __name__ == "__main__":
    main()
