"""``somamba doctor``: what is installed, what the machine can do, and which scan backend runs and why."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import torch
from rich.markup import escape
from rich.table import Table

from somamba.cli.output import make_console
from somamba.cli.parsers.doctor import parser
from somamba.extras import installed
from somamba.native import library
from somamba.scan.backends import BACKENDS
from somamba.scan.choice import Backends, Request
from somamba.scan.inputs import ScanInputs
from somamba.scan.selective.backends import BACKENDS as SELECTIVE

PACKAGES = ("somamba", "torch", "numpy", "h5py", "nibabel", "scikit-image", "safetensors")
EXTRAS = {"mamba_ssm": "cuda", "matplotlib": "report"}


def main(arguments: list[str]) -> None:
    """Parse, look, print."""
    parser().parse_args(arguments)
    console = make_console()
    console.print(_facts())
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        console.print(_backends("Scan backends", BACKENDS, device))
        console.print(_backends("Selective scan backends", SELECTIVE, device))
    if library.why_not() is None:
        console.print(
            f"The compiled scan agrees with the definition to {_error():.1e} (relative, a short random sequence)."
        )


def _facts() -> Table:
    table = Table(show_header=False, title="This machine")
    table.add_row("Python", sys.version.split()[0])
    for package in PACKAGES:
        table.add_row(package, _version(package))
    table.add_row("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    table.add_row("PyTorch threads", f"{torch.get_num_threads()} (OMP_NUM_THREADS or torch.set_num_threads changes it)")
    table.add_row("PyTorch vectors", torch.backends.cpu.get_cpu_capability())
    table.add_row(
        "bfloat16 products",
        "fast" if _fast_bfloat16() else "slow here: this CPU lacks the instructions; train in float32",
    )
    reason = library.why_not()
    table.add_row(
        "compiled kernels",
        f"built, running with {library.instruction_set()}" if reason is None else f"not used: {reason}",
    )
    table.add_row("CUDA", torch.cuda.get_device_name() if torch.cuda.is_available() else "no device")
    for module, extra in EXTRAS.items():
        state = "installed" if installed(module) else f"not installed (pip install 'somamba[{extra}]')"
        table.add_row(f"extra {extra!r}", escape(state))
    return table


def _backends(title: str, backends: Backends, device: str) -> Table:
    table = Table(title=f"{title} for float32 on {device}")
    for column in ("backend", "what it is", "runs?"):
        table.add_column(column)
    request = Request(device=device)
    automatic = backends.choose("auto", request)
    for name, backend in backends.items():
        reason = backend.why_not(request)
        state = "no: " + reason if reason else "yes, chosen by 'auto'" if backend is automatic else "yes, by name"
        table.add_row(name, backend.summary, escape(state))
    return table


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _fast_bfloat16() -> bool:
    return torch.ops.mkldnn._is_mkldnn_bf16_supported()


def _error() -> float:
    """Largest relative difference between the compiled scan and the definition in float64."""
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=rng)

    tokens, heads, p, n, rank = 70, 3, 64, 16, 4
    interface, content, scalar = (1, tokens, rank, 1, n), (1, tokens, heads, p), (1, tokens, heads)
    sequences = {"C": draw(*interface), "B": draw(*interface), "x": draw(*content), "z": draw(*content)}
    biases = {name: draw(heads, rank, n) for name in ("C_bias", "B_bias")}
    lifts = {name: draw(heads, rank, p) for name in ("mimo_x", "mimo_z", "mimo_o")}
    steps = {"dt": draw(*scalar).abs(), "adt": -draw(*scalar).abs(), "trap": draw(*scalar)}
    inputs = ScanInputs(**sequences, **biases, **lifts, D=draw(heads), angles=draw(*scalar, 4), **steps)
    exact = BACKENDS["reference"].run(ScanInputs(*(tensor.double() for tensor in inputs.tensors()))).readout
    return float((BACKENDS["native"].run(inputs).readout - exact).abs().max() / exact.abs().max())
