"""``somamba doctor``: what is installed, what the machine can do, and which scan backend runs and why."""

import os
import platform
import sys
from argparse import Namespace

import torch
from rich.markup import escape
from rich.table import Table

from somamba.cli.output import make_console, say_json
from somamba.extras import missing_packages
from somamba.native import library
from somamba.runtime.provenance import installed_version
from somamba.scan.backends import BACKENDS
from somamba.scan.choice import Backends, Request
from somamba.scan.selective.backends import BACKENDS as SELECTIVE

PACKAGES = ("somamba", "torch", "numpy", "h5py", "nibabel", "scikit-image", "safetensors")


def main(options: Namespace) -> None:
    """Print versions, extras, kernels and backends."""
    facts, tables = _facts(), _backends()
    if options.json:
        scans = [{"scan": name, "device": device, "backends": rows} for (name, device), rows in tables.items()]
        say_json({"machine": facts, "scans": scans})
        return
    console = make_console()
    machine = Table(show_header=False, title="This machine")
    for name, words in facts.items():
        machine.add_row(name, escape(words))
    console.print(machine)
    for (name, device), rows in tables.items():
        table = Table("backend", "what it is", "runs?", "off by", title=f"{name} for float32 on {device}")
        for row in rows:
            table.add_row(row["backend"], row["summary"], escape(row["runs"]), row["off_by"])
        console.print(table)
    console.print(
        "'off by': largest relative difference to the definition in float64, output and gradients of a short scan."
    )


def _facts() -> dict[str, str]:
    """What is installed and what the machine can do."""
    reason = library.why_not()
    facts = {"Python": sys.version.split()[0]} | {package: installed_version(package) for package in PACKAGES}
    facts |= {
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "PyTorch threads": f"{torch.get_num_threads()} (OMP_NUM_THREADS or --threads changes it)",
        "PyTorch vectors": torch.backends.cpu.get_cpu_capability(),
        "bfloat16 products": "fast"
        if torch.ops.mkldnn._is_mkldnn_bf16_supported()
        else "slow: this CPU lacks the instructions; train in float32",
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
    """For each kind of scan and each device: every backend in the order of ``auto``, and whether it runs or why not."""
    tables = {}
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        for name, backends in (("Scan backends", BACKENDS), ("Selective scan backends", SELECTIVE)):
            tables[name, device] = [_state(backends, key, Request(device=device)) for key in backends]
    return tables


def _state(backends: Backends, name: str, request: Request) -> dict[str, str]:
    """Return a backend's row: what it is, whether it runs, and how far its test scan is off."""
    backend = backends[name]
    row = {"backend": name, "summary": backend.summary}
    if backend.automatic_on is not None and request.device not in backend.automatic_on:
        # Its test scan would compile for seconds, though the backend runs only if it is asked for.
        reason = backend.why_not(request)
        return row | {"runs": f"no: {reason}" if reason else "yes, by name", "off_by": "not tested"}
    if reason := backends.why_not(name, request):
        return row | {"runs": f"no: {reason}", "off_by": ""}
    chosen = backends.choose("auto", request) is backend
    parity = backends.parity(name, request.device, request.index, request.sizes)
    error = "the definition" if parity is None else f"{max(parity.readout, parity.gradient):.1e}"
    return row | {"runs": "yes, chosen by 'auto'" if chosen else "yes, by name", "off_by": error}
