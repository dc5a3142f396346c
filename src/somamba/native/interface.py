"""RMS norm of B and C, and their modulation by G with the last layer that makes it, in one pass, compiled."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from somamba.native.library import constants, library, workers
from somamba.native.structures import Interface, InterfaceGradient, pointer


def _rows(tensor: Tensor) -> Tensor:
    """The tensor as a matrix whose rows may lie apart; it is copied only if that is not possible."""
    matrix = tensor.flatten(0, -2)
    return matrix if matrix.stride(-1) == 1 else matrix.contiguous()


def _describe(tensors: tuple[Tensor, ...], eps: float) -> tuple[Interface, tuple[Tensor, ...]]:
    """The structure, and the tensors it points into, which must outlive the call."""
    B, C, B_weight, C_weight, hidden, weight, bias, scale, shift = tensors
    b, c, h = _rows(B), _rows(C), _rows(hidden)
    held = (b, c, B_weight.contiguous(), C_weight.contiguous(), h, weight.t().contiguous(), bias.contiguous())
    n = B_weight.shape[0]
    call = Interface(
        b.shape[0], b.shape[1] // n, n, pointer(b), pointer(c), b.stride(0), c.stride(0), pointer(held[2]),
        pointer(held[3]), h.shape[1], h.stride(0), pointer(h), pointer(held[5]), pointer(held[6]), float(scale),
        float(shift), eps,
    )  # fmt: skip
    return call, held


@torch.library.custom_op("somamba::modulated_norm", mutates_args=(), device_types="cpu")
def modulated_norm(
    B: Tensor, C: Tensor, B_weight: Tensor, C_weight: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor,
    scale: Tensor, shift: Tensor, eps: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """RMS-norm B and C ``(..., vectors * n)`` over n, then modulate them by ``linear(hidden, weight, bias)``.

    Args:
        B: B.
        C: C.
        B_weight: The weight of the norm of B.
        C_weight: The weight of the norm of C.
        hidden: The input of the linear layer.
        weight: Its weight.
        bias: Its bias.
        scale: alpha_mu.
        shift: alpha_nu.
        eps: What is added to the mean square.
    """
    call, _held = _describe((B, C, B_weight, C_weight, hidden, weight, bias, scale, shift), eps)
    outputs, count = (torch.empty(B.shape), torch.empty(C.shape)), workers()
    scratch = torch.empty(count * constants().rows_abreast * weight.shape[0])
    call.B_out, call.C_out, call.scratch = map(pointer, (*outputs, scratch))
    library().somamba_interface_forward(ctypes.byref(call), count)
    return outputs


@modulated_norm.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor]:
    B, C = arguments[:2]
    return B.new_empty(B.shape), C.new_empty(C.shape)


@torch.library.custom_op("somamba::modulated_norm_backward", mutates_args=(), device_types="cpu")
def _backward(
    dB: Tensor, dC: Tensor, B: Tensor, C: Tensor, B_weight: Tensor, C_weight: Tensor, hidden: Tensor, weight: Tensor,
    bias: Tensor, scale: Tensor, shift: Tensor, eps: float,
) -> list[Tensor]:  # fmt: skip
    call, held = _describe((B, C, B_weight, C_weight, hidden, weight, bias, scale, shift), eps)
    count, n, rows = workers(), B_weight.shape[0], held[4]
    dB, dC = dB.contiguous(), dC.contiguous()
    modulation = torch.addmm(bias, rows, weight.t())
    dmodulation = torch.empty(modulation.shape)
    inputs, partial = (torch.empty(B.shape), torch.empty(C.shape)), torch.empty(count, 2 * n + 2)
    parts = {"dmodulation": pointer(dmodulation), "partial": pointer(partial), "B_row": held[0].shape[1]}
    gradient = InterfaceGradient(*map(pointer, (dB, dC, modulation, *inputs)), C_row=held[1].shape[1], **parts)
    library().somamba_interface_backward(ctypes.byref(call), ctypes.byref(gradient), count)
    dB_weight, dC_weight, dscale, dshift = (part.clone() for part in partial.sum(dim=0).split([n, n, 1, 1]))
    dhidden = torch.mm(dmodulation, weight).reshape(hidden.shape)
    dweight, dbias = torch.mm(dmodulation.t(), rows), dmodulation.sum(dim=0)
    return [*inputs, dB_weight, dC_weight, dhidden, dweight, dbias, dscale.reshape(()), dshift.reshape(())]


@_backward.register_fake
def _(*arguments: Any) -> list[Tensor]:
    return [tensor.new_empty(tensor.shape) for tensor in arguments[2:-1]]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ARG001
    *tensors, ctx.eps = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, dB: Tensor, dC: Tensor) -> tuple[Tensor | None, ...]:
    return (*_backward(dB, dC, *ctx.saved_tensors, ctx.eps), None)


modulated_norm.register_autograd(_differentiate, setup_context=_remember)
