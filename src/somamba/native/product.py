"""Weights of linear layers as the compiled kernels read them."""

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor

from somamba.native.library import constants, instruction_set, library
from somamba.native.structures import pointer


def packed(*weights: Tensor, half: bool = False) -> Tensor:
    """Weights ``(width, inner)``, side by side, in panels of 16 columns, zero beyond the width.

    ``(width / 16, inner, 16)`` in float32; with ``half`` ``(width / 16, inner / 2, 16, 2)`` in bfloat16, each weight
    with a zero column behind it if ``inner`` is odd.
    """
    lanes, rows = constants().lanes, weights[0].shape[0]
    if not half:
        return _packed_floats(weights, rows, lanes)
    together, panels = 2, rows // lanes
    widths = [-(-weight.shape[1] // together) for weight in weights]
    packed = torch.zeros(-(-rows // lanes), sum(widths), lanes, together, dtype=torch.bfloat16)
    for weight, part in zip(weights, packed.transpose(1, 2).split(widths, dim=2), strict=True):
        even = F.pad(weight, (0, 1)) if weight.shape[1] % together else weight
        columns = even.unflatten(1, (-1, together))
        part[:panels] = columns[: panels * lanes].unflatten(0, (panels, lanes))
        if rows % lanes:
            part[panels, : rows % lanes] = columns[panels * lanes :]
    return packed


def _packed_floats(weights: tuple[Tensor, ...], rows: int, lanes: int) -> Tensor:
    """Pack in float32. The kernels do it, because a training step packs hundreds of weights."""
    depth, at = sum(weight.shape[1] for weight in weights), 0
    packed = torch.empty(-(-rows // lanes), depth, lanes, 1)
    for weight in weights:
        sizes = map(ctypes.c_int64, (rows, weight.shape[1], *weight.stride(), depth))
        ends = ctypes.c_void_p(pointer(weight)), ctypes.c_void_p(pointer(packed[:, at:]))
        library().somamba_pack(ends[0], *sizes, ends[1])
        at += weight.shape[1]
    return packed


def halves_pay() -> bool:
    """Whether this machine multiplies bfloat16 faster than float32: it has an instruction for it."""
    return instruction_set() == "avx512bf16"
