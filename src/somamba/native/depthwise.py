"""Depthwise 3x3 and GELU on a channels-last grid, compiled."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from somamba.native.library import library, workers
from somamba.native.structures import Depthwise, DepthwiseGradient, pointer


def describe(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Depthwise, tuple[Tensor, ...]]:
    """The structure, and the tensors it points into, which must outlive the call.

    Args:
        x: The images.
        weight: The filters.
        bias: Their biases.
    """
    taps = weight.flatten(1).t().contiguous()  # 9 channels: a vector of channels for every tap
    held = (x.contiguous(), taps, bias.contiguous())
    return Depthwise(*x.shape, *map(pointer, held), None), held


@torch.library.custom_op("somamba::depthwise_gelu", mutates_args=(), device_types="cpu")
def depthwise_gelu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``gelu(conv(x))`` for x ``(batch, y, x, channels)`` and weight ``(channels, 1, 3, 3)``, zero padding.

    Args:
        x: The images.
        weight: The filters.
        bias: Their biases.
    """
    call, _held = describe(x, weight, bias)
    out = torch.empty(x.shape)
    call.out = pointer(out)
    library().somamba_depthwise_forward(ctypes.byref(call), workers())
    return out


@depthwise_gelu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ARG001
    return x.new_empty(x.shape)


@torch.library.custom_op("somamba::depthwise_gelu_backward", mutates_args=(), device_types="cpu")
def _backward(dout: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    call, _held = describe(x, weight, bias)
    count, channels = workers(), x.shape[-1]
    dout = dout.contiguous()
    dx, filtered, partial = torch.empty(x.shape), torch.empty(x.shape), torch.empty(count, 10, channels)
    gradient = DepthwiseGradient(*map(pointer, (dout, dx, filtered, partial)))
    library().somamba_depthwise_backward(ctypes.byref(call), ctypes.byref(gradient), count)
    total = partial.sum(dim=0)
    return dx, total[:9].t().reshape(weight.shape), total[9].clone()


@_backward.register_fake
def _(dout: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ARG001
    return x.new_empty(x.shape), torch.empty_like(weight), torch.empty_like(bias)


def _remember(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs)


def _differentiate(ctx: Any, dout: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _backward(dout, *ctx.saved_tensors)


depthwise_gelu.register_autograd(_differentiate, setup_context=_remember)
