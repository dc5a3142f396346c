"""``somamba doctor``: what is installed, what the machine can do, and which scan backend runs and why."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import torch
from rich.markup import escape
from rich.table import Table

from somamba.cli.output import make_console, say_json
from somamba.cli.parsers.doctor import parser
from somamba.extras import missing_packages
from somamba.native import library
from somamba.scan.backends import BACKENDS
from somamba.scan.choice import Request
from somamba.scan.inputs import ScanInputs
from somamba.scan.selective.backends import BACKENDS as SELECTIVE

PACKAGES = ("somamba", "torch", "numpy", "h5py", "nibabel", "scikit-image", "safetensors")


def main(arguments: list[str]) -> None:
    """Parse, look, print."""
    options = parser().parse_args(arguments)
    facts, tables = _facts(), _backends()
    error = None if library.why_not() else _error()
    if options.json:
        scans = [{"scan": name, "device": device, "backends": rows} for (name, device), rows in tables.items()]
        say_json({"machine": facts, "scans": scans, "error_of_compiled_scan": error})
        return
    console = make_console()
    machine = Table(show_header=False, title="This machine")
    for name, words in facts.items():
        machine.add_row(name, escape(words))
    console.print(machine)
    for (name, device), rows in tables.items():
        table = Table("backend", "what it is", "runs?", title=f"{name} for float32 on {device}")
        for row in rows:
            table.add_row(row["backend"], row["summary"], escape(row["runs"]))
        console.print(table)
    if error is not None:
        console.print(
            f"The compiled scan agrees with the definition to {error:.1e} (relative, a short random sequence)."
        )


def _facts() -> dict[str, str]:
    """What is installed and what the machine can do."""
    reason = library.why_not()
    facts = {"Python": sys.version.split()[0]} | {package: _version(package) for package in PACKAGES}
    facts |= {
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "PyTorch threads": f"{torch.get_num_threads()} (OMP_NUM_THREADS or --threads changes it)",
        "PyTorch vectors": torch.backends.cpu.get_cpu_capability(),
        "bfloat16 products": "fast" if _fast_bfloat16() else "slow: this CPU lacks the instructions; train in float32",
        "compiled kernels": f"built, running with {library.instruction_set()}"
        if reason is None
        else f"not used: {reason}",
        "CUDA": torch.cuda.get_device_name() if torch.cuda.is_available() else "no device",
    }
    for extra, missing in missing_packages().items():
        remedy = f"lacks {', '.join(missing)} (pip install 'somamba[{extra}]')"
        facts[f"extra {extra!r}"] = remedy if missing else "installed"
    return facts


def _backends() -> dict[tuple[str, str], list[dict[str, str]]]:
    """For each kind of scan and each device: every backend, and whether it runs or why not."""
    tables = {}
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        request = Request(device=device)
        for name, backends in (("Scan backends", BACKENDS), ("Selective scan backends", SELECTIVE)):
            automatic = backends.choose("auto", request)
            rows = []
            for key, backend in backends.items():
                reason = backend.why_not(request)
                runs = "yes, chosen by 'auto'" if backend is automatic else "yes, by name"
                runs = f"no: {reason}" if reason else runs
                rows.append({"backend": key, "summary": backend.summary, "runs": runs})
            tables[name, device] = rows
    return tables


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
