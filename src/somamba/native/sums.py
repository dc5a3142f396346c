"""Gradients of weights, as the workers of a kernel added them up."""

from collections.abc import Sequence
from math import prod

from torch import Tensor

from somamba.errors import BackendError
from somamba.native.library import constants


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
