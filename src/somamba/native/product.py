"""Weights of linear layers as the compiled kernels read them."""

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor

from somamba.native.library import instruction_set

LANES = 16
"""Columns of a panel, of ``source/vec.h``."""
CHUNK = 192
"""The most rows that a worker takes at a time, of ``source/product.h``."""


def packed(*weights: Tensor, half: bool = False) -> Tensor:
    """Weights ``(width, inner)``, side by side, in panels of 16 columns, zero beyond the width.

    ``(width / 16, inner, 16)`` in float32; with ``half`` ``(width / 16, inner / 2, 16, 2)`` in bfloat16, each weight
    with a zero column behind it if ``inner`` is odd.
    """
    together = 2 if half else 1
    even = [F.pad(weight, (0, -weight.shape[1] % together)) for weight in weights]
    whole = torch.cat(even, dim=1).to(torch.bfloat16 if half else torch.float32)
    full = F.pad(whole, (0, 0, 0, -whole.shape[0] % LANES))
    return full.view(-1, LANES, full.shape[1] // together, together).transpose(1, 2).contiguous()


def address(tensor: Tensor) -> ctypes.c_void_p:
    """Where packed weights lie, whatever their type."""
    return ctypes.c_void_p(tensor.data_ptr())


def halves_pay() -> bool:
    """Whether this machine multiplies bfloat16 faster than float32: it has an instruction for it."""
    return instruction_set() == "avx512bf16"
