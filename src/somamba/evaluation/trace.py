"""The results of the router and of the scan of every SO-Mamba unit, recorded by hooks while the network runs.

H  the state h of every token, on the grid (Eq. 26)        S  post-scan read-out, before any output projection

At 320x320 the states of one unit are 315 MB. They are never held together: lanes of the state do not meet, so the scan
is run again for a few of them at a time, from the arguments the hook saw.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from somamba.errors import InputError
from somamba.models.so_mamba.ownership import OwnershipBlock
from somamba.models.so_mamba.router import Streams
from somamba.models.so_mamba.tokens import untokenize
from somamba.models.so_mamba.unit import Unit
from somamba.scan.backends import scan
from somamba.scan.inputs import ScanInputs
from somamba.shapes import Grid

LANES = 16  # the compiled kernel's tile: with fewer it does the same work for less


@dataclass(frozen=True, eq=False)
class ScanTrace:
    """One unit's scan of one batch."""

    unit: int
    """Number of the unit, counted through the groups from 0."""
    size: tuple[int, int]
    """Rows and columns of the grid of tokens."""
    order: str
    """Order in which the grid was laid out as a sequence."""
    inputs: ScanInputs
    readout: Tensor
    """S as the scan returned it, ``(batch, tokens, heads, p)``."""

    def readout_grid(self) -> Grid:
        """S: ``heads * p`` channels on the grid."""
        return self._grid(self.readout)

    def state_grids(self, *, lanes: int = LANES, backend: str = "auto") -> Iterator[Grid]:
        """H, a few channels after another: ``lanes * n`` of all ``heads * p * n`` at a time.

        Args:
            lanes: Number of the ``p`` lanes of a head that are scanned together; it bounds the memory.
            backend: Name of the scan that supplies the states; it need not be the one that ran the network.
        """
        heads, p = self.inputs.x.shape[2:]
        for head in range(heads):
            for first in range(0, p, lanes):
                # Nothing here has a name, so that a part that is used up is freed before the next one is made.
                yield self._grid(_states(self.inputs.part(head, slice(first, first + lanes)), backend))

    def _grid(self, per_token: Tensor) -> Grid:
        return untokenize(per_token.flatten(start_dim=2), self.size, self.order)


def _states(inputs: ScanInputs, backend: str) -> Tensor:
    states = scan(inputs, backend=backend, keep_states=True).states
    if states is None:
        raise InputError(f"Scan backend {backend!r} returned no states.")
    return states


def traced_units(model: nn.Module) -> list[Unit]:
    """The units of a network, in the order in which they run."""
    units = [module for module in model.modules() if isinstance(module, Unit)]
    if not units:
        raise InputError(
            f"{type(model).__name__} has no SO-Mamba unit, so no state to trace; give SO-Mamba or one of its variants."
        )
    return units


@contextmanager
def record_scans(model: nn.Module, on_scan: Callable[[ScanTrace], None]) -> Iterator[None]:
    """Call ``on_scan`` with the trace of every unit that runs inside; afterwards the hooks are removed.

    A trace is to be used up at once: keeping it keeps the arguments of the scan.
    """
    with ExitStack() as stack:
        for number, unit in enumerate(traced_units(model)):
            _watch(number, unit.block, on_scan, stack)
        yield


@contextmanager
def record_streams(model: nn.Module, on_streams: Callable[[Streams], None]) -> Iterator[None]:
    """Call ``on_streams`` with the carrier and the evidence of every unit that runs inside, one after the other."""
    with ExitStack() as stack:
        for unit in traced_units(model):
            hook = unit.router.register_forward_hook(lambda _router, _features, streams: on_streams(streams))
            stack.callback(hook.remove)
        yield


def _watch(unit: int, block: OwnershipBlock, on_scan: Callable[[ScanTrace], None], stack: ExitStack) -> None:
    size = (0, 0)

    def enter(_block: nn.Module, arguments: tuple[Any, ...]) -> None:
        nonlocal size
        size = tuple(arguments[0].shape[1:3])

    def leave(_scan: nn.Module, arguments: tuple[ScanInputs], readout: Tensor) -> None:
        on_scan(ScanTrace(unit, size, block.order, arguments[0], readout))

    stack.callback(block.register_forward_pre_hook(enter).remove)
    stack.callback(block.mixer.scan.register_forward_hook(leave).remove)
