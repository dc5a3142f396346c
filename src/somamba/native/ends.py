"""Phi and Psi, the ends of a stage, compiled: a linear layer and the layer norm beside it, one operator to autograd.

Only what goes in is kept for the backward pass; what lies between both layers is made again.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somamba.native.library import constants, library, workers
from somamba.native.product import packed
from somamba.native.structures import End, EndGradient, pointer
from somamba.native.weights import Layer, fold


def embed(patches: Tensor, linear: Layer, norm: Layer, eps: float) -> Tensor:
    """Phi, the norm of a linear layer.

    Args:
        patches: ``(..., patch)``, like all weights float32 and on the CPU.
        linear: Weight ``(channels, patch)`` and bias.
        norm: Weight and bias of the layer norm.
        eps: Of the layer norm.
    """
    return _Embed.apply(patches, *linear, *norm, eps)  # type: ignore[no-untyped-call]


def decode(features: Tensor, norm: Layer, linear: Layer, eps: float) -> Tensor:
    """Psi, a linear layer of the norm.

    Args:
        features: ``(..., channels)``, like all weights float32 and on the CPU.
        norm: Weight and bias of the layer norm.
        linear: Weight ``(patch, channels)`` and bias.
        eps: Of the layer norm.
    """
    return _Decode.apply(features, *linear, *norm, eps)  # type: ignore[no-untyped-call]


class _EndFunction(torch.autograd.Function):
    """One of both; the kind says which kernels it calls and which axis of its weight is that of the patch."""

    name: str
    patch_axis: int

    @classmethod
    def run(cls, ctx: Any, x: Tensor, tensors: tuple[Tensor, ...], eps: float) -> Tensor:
        x, tensors = x.contiguous(), tuple(tensor.contiguous() for tensor in tensors)
        ctx.save_for_backward(x, *tensors)
        ctx.eps = eps
        call = _Call(cls.patch_axis, x, tensors, eps)
        out = torch.empty(*x.shape[:-1], tensors[0].shape[0])
        call.end.out = pointer(out)
        getattr(library(), f"somamba_{cls.name}_forward")(ctypes.byref(call.end), workers())
        return out

    @classmethod
    def run_back(cls, ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        x, *tensors = ctx.saved_tensors
        weight, dout = tensors[0], dout.contiguous()
        call = _Call(cls.patch_axis, x, tuple(tensors), ctx.eps)
        shapes = [(call.end.patch, call.end.channels), tuple(tensors[1].shape), *(2 * [(call.end.channels,)])]
        lanes, sizes = constants().lanes, [torch.Size(shape).numel() for shape in shapes]
        sums = torch.zeros(workers(), sum(-(-size // lanes) * lanes for size in sizes))
        back, dx = packed(weight.t()), torch.empty(x.shape) if ctx.needs_input_grad[0] or cls.name == "decode" else None
        gradient = EndGradient(dout=pointer(dout), weight=pointer(back), sums=pointer(sums))
        gradient.dx = None if dx is None else pointer(dx)
        getattr(library(), f"somamba_{cls.name}_backward")(ctypes.byref(call.end), ctypes.byref(gradient), workers())
        of_weight, *others = fold(sums, shapes)
        return dx, of_weight.t() if cls.patch_axis else of_weight, *others, None


class _Embed(_EndFunction):
    name, patch_axis = "embed", 1

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        *tensors, eps = rest
        return _Embed.run(ctx, x, tuple(tensors), eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        return _Embed.run_back(ctx, dout)


class _Decode(_EndFunction):
    name, patch_axis = "decode", 0

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        *tensors, eps = rest
        return _Decode.run(ctx, x, tuple(tensors), eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        return _Decode.run_back(ctx, dout)


class _Call:
    """The call of one end, and the tensors that it points into."""

    def __init__(self, patch_axis: int, x: Tensor, tensors: tuple[Tensor, ...], eps: float) -> None:
        weight = tensors[0]
        patch, channels = weight.shape[patch_axis], weight.shape[1 - patch_axis]
        self.packed = packed(weight)
        self.scratch = torch.empty(workers(), 2, constants().chunk, channels)
        self.end = End(x.numel() // x.shape[-1], patch, channels, pointer(x), pointer(self.packed), norm_eps=eps)
        self.end.bias, self.end.norm_weight, self.end.norm_bias = map(pointer, tensors[1:])
        self.end.scratch = pointer(self.scratch)
