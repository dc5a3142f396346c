"""Time the scan backends at the paper's shape, as ratios to ``chunked`` and to the machine's matrix-product rate.

python benchmarks/scan.py [--tokens 25600] [--batch 1] [--threads 2] [--rounds 7]

All candidates run in turn in one process; the best of several rounds counts. The public peer is the official mamba_ssm
kernel: where it is installed and there is a CUDA device for it, it is timed beside ``chunked`` there.
"""

import argparse
from collections.abc import Callable
from dataclasses import fields

import torch
from timing import gemm_task
from torch import Tensor

from somamba.evaluation.cost.timing import alternate
from somamba.native import library
from somamba.scan.backends import BACKENDS, Request
from somamba.scan.inputs import ScanInputs


def paper_inputs(batch: int, tokens: int, *, gradients: bool, seed: int = 0) -> ScanInputs:
    """Random arguments of the paper's shape: 3 heads of 64, state 16, rank 4."""
    heads, p, n, rank, angles = 3, 64, 16, 4, 4
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    def unit(interface: Tensor) -> Tensor:
        return interface * torch.rsqrt(interface.square().mean(-1, keepdim=True))

    dt = torch.nn.functional.softplus(0.5 * draw(batch, tokens, heads) - 3)
    inputs = ScanInputs(
        C=unit(draw(batch, tokens, rank, 1, n)),
        B=unit(draw(batch, tokens, rank, 1, n)),
        x=draw(batch, tokens, heads, p),
        z=draw(batch, tokens, heads, p),
        C_bias=1 + 0.1 * draw(heads, rank, n),
        B_bias=1 + 0.1 * draw(heads, rank, n),
        mimo_x=(1 + 0.1 * draw(heads, rank, p)) / rank,
        mimo_z=1 + 0.1 * draw(heads, rank, p),
        mimo_o=(1 + 0.1 * draw(heads, rank, p)) / rank,
        D=torch.ones(heads),
        angles=draw(batch, tokens, heads, angles),
        dt=dt,
        adt=-torch.exp(0.5 * draw(batch, tokens, heads)) * dt,
        trap=draw(batch, tokens, heads),
    )
    for tensor in inputs.tensors():
        tensor.requires_grad_(gradients)
    return inputs


def forward_task(backend: str, inputs: ScanInputs) -> Callable[[], object]:
    """One forward pass without gradients."""

    def task() -> object:
        with torch.no_grad():
            return BACKENDS[backend].run(inputs)

    return task


def training_task(backend: str, inputs: ScanInputs) -> Callable[[], object]:
    """One forward and backward pass."""
    cotangent = torch.ones_like(inputs.x)

    def task() -> object:
        readout = BACKENDS[backend].run(inputs).readout
        return torch.autograd.grad(readout, inputs.tensors(), cotangent)

    return task


def on_device(inputs: ScanInputs, device: str) -> ScanInputs:
    """The same arguments somewhere else, leaves again."""
    moved = {f.name: getattr(inputs, f.name).detach().to(device) for f in fields(inputs)}
    return ScanInputs(**{name: tensor.requires_grad_(inputs.x.requires_grad) for name, tensor in moved.items()})


def synchronised(task: Callable[[], object]) -> Callable[[], object]:
    """The task, done when the device is."""

    def whole() -> object:
        result = task()
        torch.cuda.synchronize()
        return result

    return whole


def print_peer(plain: ScanInputs, leaves: ScanInputs, rounds: int) -> None:
    """Time the official kernel where it can run; elsewhere say why it was not."""
    if reason := BACKENDS["fused"].why_not(Request(device="cuda" if torch.cuda.is_available() else "cpu")):
        print(f"public peer, the official mamba_ssm kernel: not timed; {reason}")
        return
    plain, leaves = on_device(plain, "cuda"), on_device(leaves, "cuda")
    tasks = {}
    for name in ("fused", "chunked"):
        tasks[f"{name} forward"] = synchronised(forward_task(name, plain))
        tasks[f"{name} forward+backward"] = synchronised(training_task(name, leaves))
    best = alternate(tasks, rounds)
    for kind in ("forward", "forward+backward"):
        ratio = best[f"chunked {kind}"] / best[f"fused {kind}"]
        print(f"public peer, the official mamba_ssm kernel, {kind}: {ratio:.1f} times as fast as chunked on CUDA")


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=25600)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = [name for name, backend in BACKENDS.items() if name != "reference" and backend.why_not(Request()) is None]
    plain = paper_inputs(options.batch, options.tokens, gradients=False)
    leaves = paper_inputs(options.batch, options.tokens, gradients=True)
    tasks = {f"{name} forward": forward_task(name, plain) for name in names}
    tasks |= {f"{name} forward+backward": training_task(name, leaves) for name in names}
    best = alternate({**tasks, "gemm": gemm_task()}, options.rounds)

    rate = 2 * 2048**3 / best["gemm"]
    print(
        f"batch {options.batch} x {options.tokens} tokens, {options.threads} threads, best of {options.rounds}, float32"
    )
    if library.why_not() is None:
        print(f"compiled kernels run with {library.instruction_set()}")
    print(f"matrix product 2048^3: {rate / 1e9:.0f} GFLOP/s")
    print(f"{'':28}{'ms':>9}{'chunked / this':>16}{'share of the GEMM rate':>25}")
    operations = options.batch * options.tokens * 3 * 64 * 16 * (4 * 4 + 1)  # writes, reads, decay; forward only
    for name in names:
        for kind in ("forward", "forward+backward"):
            seconds = best[f"{name} {kind}"]
            ratio = best[f"chunked {kind}"] / seconds
            share = f"{operations / seconds / rate:.0%}" if kind == "forward" else ""
            print(f"{name + ' ' + kind:28}{1e3 * seconds:9.1f}{ratio:16.1f}{share:>25}")
    print_peer(plain, leaves, options.rounds)


if __name__ == "__main__":
    main()
