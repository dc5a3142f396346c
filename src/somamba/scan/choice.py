"""How a scan chooses among its implementations: explicit, or automatic and logged; never silent."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import torch

from somamba.errors import BackendError
from somamba.extras import installed
from somamba.native import library
from somamba.registry import Registry
from somamba.scan.inputs import ScanOutput

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


class Backends(Registry[Backend]):
    """All implementations of one scan, in the order in which ``"auto"`` tries them."""

    def __init__(self, kind: str, entries: Mapping[str, Backend]) -> None:
        super().__init__(kind, entries)
        self.automatic = cache(self._automatic)  # asked once for each kind of request, and logged once

    def choose(self, name: str, request: Request) -> Backend:
        """Return the backend called ``name``; for ``"auto"``, the first in the table that can serve the request."""
        if name == "auto":
            return self[self.automatic(request)]
        backend = self[name]
        if reason := backend.why_not(request):
            kind = self.kind[0].upper() + self.kind[1:]
            raise BackendError(f"{kind} {name!r} cannot run: {reason}. Use 'auto' to let somamba choose.")
        return backend

    def _automatic(self, request: Request) -> str:
        refusals: list[str] = []
        for name, backend in self.items():
            reason = backend.why_not(request)
            if reason is None:
                logger.info("%s %r for %s%s", self.kind, name, request, "".join(f"; not {r}" for r in refusals))
                return name
            refusals.append(f"{name!r} ({reason})")
        raise BackendError(f"No {self.kind} can serve {request}: {'; '.join(refusals)}.")


def fused_why_not(kernel: str, package: str) -> Callable[[Request], str | None]:
    """The conditions of an official CUDA kernel, which lives in the module ``kernel`` of ``package``."""

    def why_not(request: Request) -> str | None:
        if request.keep_states:
            return "the fused kernel does not hand out the state trajectory"
        if request.device != "cuda":
            return f"it needs a CUDA device, the tensors are on {request.device!r}"
        if request.dtype != torch.float32:
            return f"it takes float32, not {request.dtype}"
        if not installed(kernel):
            return f"{package} is not installed (pip install 'somamba[cuda]')"
        return None

    return why_not


def native_why_not(request: Request) -> str | None:
    """The conditions of the compiled kernels."""
    if request.device != "cpu":
        return f"it runs on the CPU, the tensors are on {request.device!r}"
    if request.dtype != torch.float32:
        return f"it computes in float32, not {request.dtype}"
    return library.why_not()


def always(_request: Request) -> str | None:
    """No conditions."""
    return None


def full_precision(device: str) -> AbstractContextManager[None]:
    """Suspend autocast, which would run the products of the plain backends in half precision."""
    if not torch.amp.is_autocast_available(device):  # "meta" knows none
        return nullcontext()
    return torch.autocast(device, enabled=False)
