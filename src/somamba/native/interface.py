"""RMS norm of B and C and their modulation by G in one pass, compiled; structures mirror ``source/kernels.h``."""

import ctypes
from ctypes import c_float, c_int64
from typing import Any

import torch
from torch import Tensor

from somamba.native.library import FLOATS, library, pointer, workers


class _Interface(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("rows", "vectors", "n")),
        ("B", FLOATS),
        ("C", FLOATS),
        ("B_row", c_int64),
        ("C_row", c_int64),
        ("B_weight", FLOATS),
        ("C_weight", FLOATS),
        ("modulation", FLOATS),
        ("modulation_row", c_int64),
        ("modulation_bias", FLOATS),
        *((name, c_float) for name in ("scale", "shift", "eps")),
        ("B_out", FLOATS),
        ("C_out", FLOATS),
    ]


class _InterfaceGradient(ctypes.Structure):
    _fields_ = [(name, FLOATS) for name in ("dB", "dC", "B", "C", "modulation", "partial")]


def _rows(tensor: Tensor) -> Tensor:
    """As a matrix whose rows may lie apart; copied only if that cannot be had."""
    matrix = tensor.flatten(0, -2)
    return matrix if matrix.stride(-1) == 1 else matrix.contiguous()


def _describe(tensors: tuple[Tensor, ...], eps: float) -> tuple[_Interface, tuple[Tensor, ...]]:
    """The structure, and the tensors it points into, which must outlive the call."""
    B, C, B_weight, C_weight, modulation, bias, scale, shift = tensors
    b, c, m = _rows(B), _rows(C), _rows(modulation)
    held = (b, c, B_weight.contiguous(), C_weight.contiguous(), m, bias.contiguous())
    n = B_weight.shape[0]
    call = _Interface(
        b.shape[0], b.shape[1] // n, n, pointer(b), pointer(c), b.stride(0), c.stride(0), pointer(held[2]),
        pointer(held[3]), pointer(m), m.stride(0), pointer(held[5]), float(scale), float(shift), eps, None, None,
    )  # fmt: skip
    return call, held


@torch.library.custom_op("somamba::modulated_norm", mutates_args=(), device_types="cpu")
def modulated_norm(
    B: Tensor, C: Tensor, B_weight: Tensor, C_weight: Tensor, modulation: Tensor, bias: Tensor, scale: Tensor,
    shift: Tensor, eps: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """RMS-norm B and C ``(..., vectors * n)`` over n, then modulate them by ``modulation + bias``, 4 times as wide."""
    call, _held = _describe((B, C, B_weight, C_weight, modulation, bias, scale, shift), eps)
    outputs = torch.empty(B.shape), torch.empty(C.shape)
    call.B_out, call.C_out = map(pointer, outputs)
    library().somamba_interface_forward(ctypes.byref(call), workers())
    return outputs


@modulated_norm.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor]:
    B, C = arguments[:2]
    return B.new_empty(B.shape), C.new_empty(C.shape)


@torch.library.custom_op("somamba::modulated_norm_backward", mutates_args=(), device_types="cpu")
def _backward(
    dB: Tensor, dC: Tensor, B: Tensor, C: Tensor, B_weight: Tensor, C_weight: Tensor, modulation: Tensor, bias: Tensor,
    scale: Tensor, shift: Tensor, eps: float,
) -> list[Tensor]:  # fmt: skip
    call, _held = _describe((B, C, B_weight, C_weight, modulation, bias, scale, shift), eps)
    count, n = workers(), B_weight.shape[0]
    dB, dC = dB.contiguous(), dC.contiguous()
    inputs = torch.empty(B.shape), torch.empty(C.shape), torch.empty(modulation.shape)
    partial = torch.empty(count, 2 * n + 2 + bias.numel())
    gradient = _InterfaceGradient(*map(pointer, (dB, dC, *inputs, partial)))
    library().somamba_interface_backward(ctypes.byref(call), ctypes.byref(gradient), count)
    of_B, of_C, of_scale, of_shift, of_bias = partial.sum(dim=0).split([n, n, 1, 1, bias.numel()])
    sums = (part.clone() for part in (of_B, of_C, of_bias, of_scale[0], of_shift[0]))
    dB_weight, dC_weight, dbias, dscale, dshift = sums
    return [inputs[0], inputs[1], dB_weight, dC_weight, inputs[2], dbias, dscale, dshift]


@_backward.register_fake
def _(*arguments: Any) -> list[Tensor]:
    return [tensor.new_empty(tensor.shape) for tensor in arguments[2:-1]]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ARG001
    *tensors, ctx.eps = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, dB: Tensor, dC: Tensor) -> tuple[Tensor | None, ...]:
    return (*_backward(dB, dC, *ctx.saved_tensors, ctx.eps), None)


modulated_norm.register_autograd(_differentiate, setup_context=_remember)
