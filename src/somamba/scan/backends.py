"""Which implementation runs the scan. A choice is explicit, or automatic and logged; never silent."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch

from somamba.errors import BackendError
from somamba.extras import installed
from somamba.native import library
from somamba.registry import Registry
from somamba.scan.chunked import scan_chunked
from somamba.scan.fused import KERNEL, scan_fused
from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.native import scan_native
from somamba.scan.reference import scan_reference

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What decides whether a backend can run."""

    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    keep_states: bool = False


@dataclass(frozen=True)
class Backend:
    """One implementation and its conditions."""

    run: Callable[..., ScanOutput]
    """``(inputs, *, keep_states) -> ScanOutput``."""
    why_not: Callable[[Request], str | None]
    """The reason why it cannot serve a request, or None."""
    summary: str
    """One line for people."""


def _fused_why_not(request: Request) -> str | None:
    if request.keep_states:
        return "the fused kernel does not hand out the state trajectory"
    if request.device != "cuda":
        return f"it needs a CUDA device, the tensors are on {request.device!r}"
    if request.dtype != torch.float32:
        return f"it takes float32, not {request.dtype}"
    if not installed(KERNEL):
        return "mamba-ssm with its Mamba-3 kernels is not installed (pip install 'somamba[cuda]')"
    return None


def _native_why_not(request: Request) -> str | None:
    if request.device != "cpu":
        return f"it runs on the CPU, the tensors are on {request.device!r}"
    if request.dtype != torch.float32:
        return f"it computes in float32, not {request.dtype}"
    return library.why_not()


def _always(_request: Request) -> str | None:
    return None


BACKENDS: Registry[Backend] = Registry(
    "scan backend",
    {  # in the order in which "auto" tries them
        "fused": Backend(scan_fused, _fused_why_not, "official mamba_ssm kernel, CUDA"),
        "native": Backend(scan_native, _native_why_not, "compiled C++ on the CPU, float32"),
        "chunked": Backend(scan_chunked, _always, "plain PyTorch, any device with float64"),
        "reference": Backend(scan_reference, _always, "the definition, one token at a time, slow"),
    },
)


def choose(name: str, request: Request) -> Backend:
    """Return the backend called ``name``; for ``"auto"``, the first in the table that can serve the request."""
    if name == "auto":
        return BACKENDS[_automatic(request)]
    backend = BACKENDS[name]
    if reason := backend.why_not(request):
        raise BackendError(f"Scan backend {name!r} cannot run: {reason}. Use 'auto' to let somamba choose.")
    return backend


@cache
def _automatic(request: Request) -> str:
    refusals: list[str] = []
    for name, backend in BACKENDS.items():
        reason = backend.why_not(request)
        if reason is None:
            logger.info("scan backend %r for %s%s", name, request, "".join(f"; not {r}" for r in refusals))
            return name
        refusals.append(f"{name!r} ({reason})")
    raise BackendError(f"No scan backend can serve {request}: {'; '.join(refusals)}.")


def scan(inputs: ScanInputs, *, backend: str = "auto", keep_states: bool = False) -> ScanOutput:
    """Run the Mamba-3 MIMO scan."""
    inputs.check()
    request = Request(inputs.x.device.type, inputs.x.dtype, keep_states)
    # Autocast would run the products of the plain backends in half precision.
    with torch.autocast(inputs.x.device.type, enabled=False):
        return choose(backend, request).run(inputs, keep_states=keep_states)
