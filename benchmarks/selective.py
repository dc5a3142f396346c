"""Time the selective scan's backends as ratios to ``chunked``, ``reference`` and the machine's matrix-product rate.

python benchmarks/selective.py [--tokens 25600] [--channels 128] [--state 16] [--batch 1] [--threads 2] [--rounds 5]

All candidates run in turn in one process, on the CPU; the best of several rounds counts. ``reference`` takes minutes:
it is timed once, and left out by ``--no-reference``.
"""

import argparse
from collections.abc import Callable

import torch
from timing import gemm_task
from torch import Tensor

from somamba.evaluation.cost.timing import alternate
from somamba.native import library
from somamba.scan.choice import Request
from somamba.scan.selective.backends import BACKENDS
from somamba.scan.selective.inputs import SelectiveInputs


def mamba_inputs(
    batch: int, tokens: int, channels: int, state: int, *, gradients: bool, seed: int = 0
) -> SelectiveInputs:
    """Random arguments as a fresh Mamba block makes them: steps of 0.001 to 0.1, rates -1 to -state."""
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    inputs = SelectiveInputs(
        u=draw(batch, tokens, channels),
        dt=10 ** (2 * torch.rand(batch, tokens, channels, generator=rng) - 3),
        A=-torch.arange(1.0, state + 1).repeat(channels, 1),
        B=draw(batch, tokens, 1, state),
        C=draw(batch, tokens, 1, state),
        D=torch.ones(channels),
    )
    for tensor in inputs.tensors():
        tensor.requires_grad_(gradients)
    return inputs


def forward_task(backend: str, inputs: SelectiveInputs) -> Callable[[], object]:
    """One forward pass without gradients."""

    def task() -> object:
        with torch.no_grad():
            return BACKENDS[backend].run(inputs)

    return task


def training_task(backend: str, inputs: SelectiveInputs) -> Callable[[], object]:
    """One forward and backward pass."""
    cotangent = torch.ones_like(inputs.u)

    def task() -> object:
        readout = BACKENDS[backend].run(inputs).readout
        return torch.autograd.grad(readout, inputs.tensors(), cotangent)

    return task


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"tokens": 25600, "channels": 128, "state": 16, "batch": 1, "threads": 2, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--reference", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sizes = (options.batch, options.tokens, options.channels, options.state)
    plain, leaves = mamba_inputs(*sizes, gradients=False), mamba_inputs(*sizes, gradients=True)

    def tasks(name: str) -> dict[str, Callable[[], object]]:
        return {f"{name} forward": forward_task(name, plain), f"{name} forward+backward": training_task(name, leaves)}

    names = [name for name, backend in BACKENDS.items() if name != "reference" and backend.why_not(Request()) is None]
    fast = {key: task for name in names for key, task in tasks(name).items()}
    best = alternate({**fast, "gemm": gemm_task()}, options.rounds)
    if options.reference:
        names.append("reference")
        best |= alternate(tasks("reference"), 1, warm=False)
    report(options, names, best)


def report(options: argparse.Namespace, names: list[str], best: dict[str, float]) -> None:
    """Print milliseconds, and how many times longer ``chunked`` and ``reference`` take."""
    rate = 2 * 2048**3 / best["gemm"]
    print(
        f"batch {options.batch} x {options.tokens} tokens x {options.channels} channels, state {options.state}, "
        f"{options.threads} threads, best of {options.rounds}, float32"
    )
    if library.why_not() is None:
        print(f"compiled kernels run with {library.instruction_set()}")
    print(f"matrix product 2048^3: {rate / 1e9:.0f} GFLOP/s")
    print(f"{'':28}{'ms':>10}{'chunked / this':>16}{'reference / this':>18}")
    for name in names:
        for kind in ("forward", "forward+backward"):
            seconds = best[f"{name} {kind}"]
            slow = f"{best[f'reference {kind}'] / seconds:.1f}" if options.reference else ""
            ratio = best[f"chunked {kind}"] / seconds
            print(f"{name + ' ' + kind:28}{1e3 * seconds:10.1f}{ratio:16.1f}{slow:>18}")


if __name__ == "__main__":
    main()
