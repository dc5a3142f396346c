"""Layers of the compared networks written out once more, from their definitions, on the weights of a built network."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from somamba.physics.operator import LinearOperator


def replaced(x: Tensor, y: Tensor, A: LinearOperator) -> Tensor:
    """Hard data consistency of one coil: what was measured takes the place of what the image says."""
    return x + A.adjoint(y - A(x))


def channels(x: Tensor) -> Tensor:
    """Real parts, then imaginary parts."""
    return torch.cat((x.real, x.imag), dim=1)


def joined(features: Tensor) -> Tensor:
    """Undo `channels`."""
    half = features.shape[1] // 2
    return features[:, :half] + 1j * features[:, half:]


def convolved(layer: Any, x: Tensor, **options: Any) -> Tensor:
    """A convolution with the weights of a layer, and padding that keeps the size unless options say otherwise."""
    options = {"padding": layer.weight.shape[-1] // 2} | options
    return F.conv2d(x, layer.weight, layer.bias, **options)


def normed(x: Tensor, axes: tuple[int, ...], eps: float = 1e-5) -> Tensor:
    """Zero mean and unit variance over the axes."""
    centred = x - x.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True) + eps).sqrt()


def layer_normed(layer: Any, grid: Tensor) -> Tensor:
    """A layer norm over the last axis, with the weights of a layer."""
    return normed(grid, (-1,)) * layer.weight + layer.bias
