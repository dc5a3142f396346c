"""Weights of linear layers as the compiled kernels read them."""

import torch
import torch.nn.functional as F
from torch import Tensor

from somamba.native.library import constants, instruction_set


def packed(*weights: Tensor, half: bool = False) -> Tensor:
    """Weights ``(width, inner)``, side by side, in panels of 16 columns, zero beyond the width.

    ``(width / 16, inner, 16)`` in float32; with ``half`` ``(width / 16, inner / 2, 16, 2)`` in bfloat16, each weight
    with a zero column behind it if ``inner`` is odd.
    """
    lanes, together, rows = constants().lanes, 2 if half else 1, weights[0].shape[0]
    widths = [-(-weight.shape[1] // together) for weight in weights]
    kind, panels = torch.bfloat16 if half else torch.float32, rows // lanes
    packed = torch.zeros(-(-rows // lanes), sum(widths), lanes, together, dtype=kind)
    for weight, part in zip(weights, packed.transpose(1, 2).split(widths, dim=2), strict=True):
        even = F.pad(weight, (0, 1)) if weight.shape[1] % together else weight
        columns = even.unflatten(1, (-1, together))
        part[:panels] = columns[: panels * lanes].unflatten(0, (panels, lanes))
        if rows % lanes:
            part[panels, : rows % lanes] = columns[panels * lanes :]
    return packed


def halves_pay() -> bool:
    """Whether this machine multiplies bfloat16 faster than float32: it has an instruction for it."""
    return instruction_set() == "avx512bf16"
