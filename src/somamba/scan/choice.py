"""How a scan chooses among its implementations: explicit, or automatic and logged; never silent."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import torch

from somamba.errors import BackendError
from somamba.registry import Registry
from somamba.scan.inputs import ScanOutput
from somamba.scan.parity import Arguments, Parity, measure_parity

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What decides whether a backend can run."""

    device: str = "cpu"
    """Type of the device that holds the tensors."""
    dtype: torch.dtype = torch.float32
    """Number type of the tensors."""
    keep_states: bool = False
    """Whether the state at every token is wanted."""
    sizes: tuple[int, ...] = ()
    """Sizes that decide whether a kernel fits, in the order of the scan's own record; empty: those of the paper."""
    index: int | None = None
    """Number of the device among those of its type."""


@dataclass(frozen=True)
class Backend:
    """One implementation and its conditions."""

    run: Callable[..., ScanOutput]
    """``(inputs, *, keep_states) -> ScanOutput``."""
    why_not: Callable[[Request], str | None]
    """The reason why it cannot serve a request, or None."""
    summary: str
    """One line for people."""
    automatic_on: tuple[str, ...] | None = None
    """Types of devices on which ``auto`` may take it; None: on all."""


class Backends(Registry[Backend]):
    """All implementations of one scan, in the order in which ``"auto"`` tries them; the last one is the definition."""

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Backend],
        *,
        example: Callable[[tuple[int, ...]], Arguments] | None = None,
    ) -> None:
        """Make a table.

        Args:
            kind: What the entries are called in messages.
            entries: The backends by name.
            example: Makes the arguments of a small scan of given sizes, by which backends are compared with the
                definition before their first use; None: backends are trusted.
        """
        super().__init__(kind, entries)
        self._example = example
        self.automatic = cache(self._automatic)  # asked once for each kind of request, and logged once
        self.parity = cache(self._parity)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def choose(self, name: str, request: Request) -> Backend:
        """Return the backend called ``name``; for ``"auto"``, the first in the table that can serve the request.

        A compiler of the code around it leaves this out, so that test scans are made in any case.
        """
        if name == "auto":
            return self[self.automatic(request)]
        backend = self[name]
        if reason := self.why_not(name, request):
            kind = self.kind[0].upper() + self.kind[1:]
            raise BackendError(f"{kind} {name!r} cannot run: {reason}. Use 'auto' to let somamba choose.")
        return backend

    def why_not(self, name: str, request: Request) -> str | None:
        """Return why a backend cannot serve a request, its test scan on the device included; or None."""
        reason = self[name].why_not(request)
        if reason is None and (parity := self.parity(name, request.device, request.index, request.sizes)) is not None:
            return parity.complaint
        return reason

    def _parity(self, name: str, device: str, index: int | None, sizes: tuple[int, ...]) -> Parity | None:
        """Compare a backend with the definition; None if there is nothing to compare or nothing to compute on."""
        definition = list(self)[-1]
        if self._example is None or name == definition or device == "meta":
            return None
        with full_precision(device):
            place = torch.device(device) if index is None else torch.device(device, index)
            parity = measure_parity(self[name].run, self[definition].run, self._example(sizes), place)
        logger.info("%s %r on %s, sizes %s: %s", self.kind, name, place, sizes, parity)
        return parity

    def _automatic(self, request: Request) -> str:
        refusals: list[str] = []
        for name, backend in self.items():
            if backend.automatic_on is not None and request.device not in backend.automatic_on:
                refusals.append(f"{name!r} (on {request.device!r} it is taken by name only)")
                continue
            reason = self.why_not(name, request)
            if reason is None:
                logger.info("%s %r for %s%s", self.kind, name, request, "".join(f"; not {r}" for r in refusals))
                return name
            refusals.append(f"{name!r} ({reason})")
        raise BackendError(f"No {self.kind} can serve {request}: {'; '.join(refusals)}.")


def full_precision(device: str) -> AbstractContextManager[None]:
    """Suspend autocast, which would run the products of the plain backends in half precision."""
    if not torch.amp.is_autocast_available(device):  # "meta" knows none
        return nullcontext()
    return torch.autocast(device, enabled=False)
