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
    lanes, together = constants().lanes, 2 if half else 1
    even = [F.pad(weight, (0, -weight.shape[1] % together)) for weight in weights]
    whole = torch.cat(even, dim=1).to(torch.bfloat16 if half else torch.float32)
    full = F.pad(whole, (0, 0, 0, -whole.shape[0] % lanes))
    return full.view(-1, lanes, full.shape[1] // together, together).transpose(1, 2).contiguous()


def halves_pay() -> bool:
    """Whether this machine multiplies bfloat16 faster than float32: it has an instruction for it."""
    return instruction_set() == "avx512bf16"
