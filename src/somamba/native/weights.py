"""The parameters of a unit as its compiled forms take them, and their gradients as the kernels add them up.

All are float32 and on the CPU; there is one record for each half of a unit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import TypeVar

from torch import Tensor, nn

from somamba.errors import BackendError
from somamba.native.library import constants

Weights = TypeVar("Weights", "RouteWeights", "StreamWeights")
Layer = tuple[Tensor, Tensor]
"""Weight and bias of one layer."""


def layer_weights(module: nn.Module) -> Layer:
    """Weight and bias of a linear layer, a filter or a norm that has both."""
    return module.weight, module.bias  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class RouteWeights:
    """The parameters of a unit's norm and router."""

    norm: Layer
    """The layer norm of the features."""
    norm_eps: float
    filter: Layer
    """The depthwise filter, ``(channels, 1, 3, 3)``."""
    carrier: Layer
    """The layer of the first pool, ``(d, channels / 2)``."""
    evidence: Layer
    """The layer of the second pool."""
    smooth: Tensor
    """Taps of the carrier's low pass. They are fixed: no gradient reaches them."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How G modulates B and C."""

    norm: Layer
    """The layer norm of G."""
    reduce: Layer
    """The first layer of P, ``(hidden, width)``."""
    modulate: Layer
    """Its last, ``(4 * rank * groups * n, hidden)``."""
    strengths: tuple[Tensor, Tensor]
    """alpha_mu and alpha_nu, the strengths of the modulation."""


@dataclass(frozen=True, kw_only=True)
class StreamWeights:
    """The parameters of one ownership block."""

    content_norm: Layer
    """The layer norm of the content."""
    norm_eps: float
    gate: Tensor | None
    """``(width,)``: the content is L + gate * G; None if it is L."""
    token_gate: Tensor | None
    """``(width,)``: its product with the normed G of a token is added to the gate; None adds nothing."""
    project: Tensor
    """``(columns, width)``: z, x, B, C, dt, A, trap, angle."""
    dt_bias: Tensor
    B_norm: Tensor
    C_norm: Tensor
    B_bias: Tensor
    """``(heads, rank, n)``; `C_bias` has the same shape."""
    C_bias: Tensor
    mimo_x: Tensor
    """``(heads, rank, p)``; `mimo_z` and `mimo_o` have the same shape."""
    mimo_z: Tensor
    mimo_o: Tensor
    D: Tensor
    groups: int
    interface_eps: float
    decay_floor: float
    decay_softplus: bool
    access: Access | None
    outlet: tuple[Tensor, Tensor, Tensor] | None
    """Weight ``(width, 1, 3, 3)`` and bias of the filter; ``(channels, width)`` from the filtered G to the output."""
    merge: Layer
    """The layer from the read-out to the output, ``(channels, read-out)``."""


def leaves(weights: RouteWeights | StreamWeights | Access) -> list[Tensor]:
    """All tensors of a record, in the order of its fields."""
    found: list[Tensor] = []
    for field in fields(weights):
        value = getattr(weights, field.name)
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(value)
        elif isinstance(value, Access):
            found.extend(leaves(value))
    return found


def with_leaves(weights: Weights, tensors: Iterable[Tensor]) -> Weights:
    """Return this record with other tensors, given in the order of `leaves`."""
    return _filled(weights, iter(tensors))


def fold(sums: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """Add up the workers' sums ``(workers, size)`` and cut them into parts, each from a multiple of 16 on."""
    lanes, total, at, parts = constants().lanes, sums.sum(dim=0), 0, []
    for shape in shapes:
        size = prod(shape)
        parts.append(total[at : at + size].view(shape))
        at += -(-size // lanes) * lanes
    if at != sums.shape[1]:
        raise BackendError(f"The compiled kernels sum {sums.shape[1]} numbers, but {at} are expected (reinstall).")
    return parts


Record = TypeVar("Record", RouteWeights, StreamWeights, Access)


def _filled(weights: Record, tensors: Iterator[Tensor]) -> Record:
    changes: dict[str, object] = {}
    for field in fields(weights):
        value = getattr(weights, field.name)
        if isinstance(value, Tensor):
            changes[field.name] = next(tensors)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(next(tensors) for _ in value)
        elif isinstance(value, Access):
            changes[field.name] = _filled(value, tensors)
    return replace(weights, **changes)  # type: ignore[arg-type]
