"""The state-ownership router for inference, compiled: from features to both streams without anything stored in between.

The structure mirrors ``source/kernels.h``.
"""

import ctypes
from ctypes import c_float, c_int64, c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor

from somamba.native.library import FLOATS, library, pointer, workers
from somamba.native.product import address, packed


class _Route(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("height", "width", "channels", "d", "low_height", "low_width", "smoothing")),
        *((name, FLOATS) for name in ("features", "norm_weight", "norm_bias", "taps", "taps_bias")),
        ("carrier_weight", c_void_p),
        ("evidence_weight", c_void_p),
        ("carrier_bias", FLOATS),
        ("evidence_bias", FLOATS),
        ("half", c_int64),
        ("smooth", FLOATS),
        ("norm_eps", c_float),
        *((name, FLOATS) for name in ("carrier", "evidence", "low", "scratch")),
    ]


@dataclass(frozen=True, kw_only=True)
class RouteWeights:
    """The parameters of a unit's norm and router, float32 and contiguous."""

    norm: tuple[Tensor, Tensor]
    """Weight and bias of the layer norm of the features."""
    norm_eps: float
    filter: tuple[Tensor, Tensor]
    """Weight ``(channels, 1, 3, 3)`` and bias of the depthwise filter."""
    carrier: tuple[Tensor, Tensor]
    """Weight ``(d, channels / 2)`` and bias for the first pool."""
    evidence: tuple[Tensor, Tensor]
    """For the second."""
    smooth: Tensor
    """Taps of the carrier's low pass."""


def route(features: Tensor, weights: RouteWeights, *, half: bool = False) -> tuple[Tensor, Tensor]:
    """Carrier L and evidence G of features ``(batch, y, x, channels)``; with ``half``, products take bfloat16."""
    features = features.contiguous()
    batch, height, width, channels = features.shape
    d, smoothing = weights.carrier[0].shape[0], weights.smooth.shape[0]
    low_height, low_width = ((side + 4 - smoothing) // 2 + 1 for side in (height, width))
    carrier, evidence = torch.empty(batch, height, width, d), torch.empty(batch, height, width, d)
    low, taps = torch.empty(low_height, low_width, d), weights.filter[0].flatten(1).t().contiguous()
    linear = [packed(weight, half=half) for weight, _ in (weights.carrier, weights.evidence)]
    call = _Route(height, width, channels, d, low_height, low_width, smoothing, norm_eps=weights.norm_eps)
    call.norm_weight, call.norm_bias = map(pointer, weights.norm)
    call.taps, call.taps_bias = pointer(taps), pointer(weights.filter[1])
    call.carrier_weight, call.evidence_weight = map(address, linear)
    call.half = half
    call.carrier_bias, call.evidence_bias = pointer(weights.carrier[1]), pointer(weights.evidence[1])
    call.smooth, call.low = pointer(weights.smooth), pointer(low)
    library().somamba_route_scratch.restype = c_int64
    scratch = torch.empty(workers(), library().somamba_route_scratch(ctypes.byref(call)))
    call.scratch = pointer(scratch)
    for image in range(batch):
        call.features, call.carrier, call.evidence = map(pointer, (features[image], carrier[image], evidence[image]))
        library().somamba_route(ctypes.byref(call), workers())
    return carrier, evidence
