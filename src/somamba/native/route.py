"""The state-ownership router, compiled: from features to both streams without anything stored in between, and back."""

import ctypes
from collections.abc import Iterator

import torch
from torch import Tensor

from somamba.native.library import library, workers
from somamba.native.product import packed
from somamba.native.structures import Route, RouteGradient, RouteSizes, pointer
from somamba.native.weights import RouteWeights, fold


def route(
    features: Tensor, weights: RouteWeights, *, half: bool = False, kept: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Carrier L and evidence G of features ``(batch, y, x, channels)``; with ``half``, products take bfloat16.

    Args:
        features: The features.
        weights: The parameters of norm and router.
        half: Multiply in bfloat16.
        kept: ``(batch, y, x, 2)``, for mean and 1 / deviation of the features, which the way back wants; None if there
            is none.
    """
    d = weights.carrier[0].shape[0]
    carrier, evidence = torch.empty(*features.shape[:3], d), torch.empty(*features.shape[:3], d)
    linear = [packed(weight, half=half) for weight, _ in (weights.carrier, weights.evidence)]
    held = _Held(features, weights, half=half)
    scratch = torch.empty(workers(), held.sizes.forward)
    held.call.scratch = pointer(scratch)
    held.call.carrier_weight, held.call.evidence_weight = map(pointer, linear)
    for image, call in enumerate(held.calls(kept)):
        call.carrier, call.evidence = pointer(carrier[image]), pointer(evidence[image])
        library().somamba_route(ctypes.byref(call), workers())
    return carrier, evidence


def bordered(images: int, height: int, width: int, channels: int) -> Tensor:
    """Images with a border of zeros, one pixel wide, for the filter's way back; what is inside is not set.

    Args:
        images: How many.
        height: Rows inside the border.
        width: Columns inside the border.
        channels: Numbers of a pixel.
    """
    grid = torch.empty(images, height + 2, width + 2, channels)
    for edge in (grid[:, 0], grid[:, -1], grid[:, :, 0], grid[:, :, -1]):
        edge.zero_()
    return grid


def route_backward(
    dout: Tensor, dcarrier: Tensor, devidence: Tensor, features: Tensor, kept: Tensor, weights: RouteWeights
) -> tuple[Tensor, list[Tensor]]:
    """The gradients of the features, with ``dout`` added, and of the weights in the order of `leaves`.

    Args:
        dout: What is added to the gradient of the features: they also go past the router.
        dcarrier: The gradient of L as restored by the low pass, from all its uses, that in G among them.
        devidence: The gradient of G.
        features: As they went in.
        kept: What `route` kept of them.
        weights: Of norm and router.
    """
    held = _Held(features, weights)
    height, width, channels = features.shape[1:]
    d, pool = weights.carrier[0].shape
    scratch, sums = torch.empty(workers(), held.sizes.backward), torch.zeros(workers(), held.sizes.sums)
    filtered, dfeatures = bordered(1, height, width, channels), torch.empty(features.shape)
    linear = [packed(weight.t()) for weight, _ in (weights.carrier, weights.evidence)]
    gradient = RouteGradient(sums=pointer(sums), dfiltered=pointer(filtered), dlow=held.call.low)
    gradient.carrier_weight, gradient.evidence_weight = map(pointer, linear)
    held.call.scratch = pointer(scratch)
    for image, call in enumerate(held.calls(kept)):
        parts = (dout[image], dcarrier[image], devidence[image], dfeatures[image])
        gradient.dout, gradient.dcarrier, gradient.devidence, gradient.dfeatures = map(pointer, parts)
        library().somamba_route_backward(ctypes.byref(call), ctypes.byref(gradient), workers())
    norm_weight, norm_bias, taps, *linear_gradients = fold(
        sums, [(channels,), (channels,), (10, channels), (d, pool), (d,), (d, pool), (d,)]
    )
    taps_gradient = taps[:9].t().reshape(weights.filter[0].shape)
    return dfeatures, [norm_weight, norm_bias, taps_gradient, taps[9], *linear_gradients, torch.empty(0)]


class _Held:
    """The call, and the tensors that it points into."""

    def __init__(self, features: Tensor, weights: RouteWeights, *, half: bool = False) -> None:
        self.features = features
        _, height, width, channels = features.shape
        d, smoothing = weights.carrier[0].shape[0], weights.smooth.shape[0]
        low_height, low_width = ((side + 4 - smoothing) // 2 + 1 for side in (height, width))
        self.low, self.taps = torch.empty(low_height, low_width, d), weights.filter[0].flatten(1).t().contiguous()
        self.weights = weights
        self.call = call = Route(height, width, channels, d, low_height, low_width, smoothing, half=half)
        call.norm_eps = weights.norm_eps
        call.norm_weight, call.norm_bias = map(pointer, weights.norm)
        call.taps, call.taps_bias = pointer(self.taps), pointer(weights.filter[1])
        call.carrier_bias, call.evidence_bias = pointer(weights.carrier[1]), pointer(weights.evidence[1])
        call.smooth, call.low = pointer(weights.smooth), pointer(self.low)
        self.sizes = RouteSizes()
        library().somamba_route_sizes(ctypes.byref(call), ctypes.byref(self.sizes))

    def calls(self, kept: Tensor | None) -> Iterator[Route]:
        """The call for one image after another, and for what is kept of each."""
        for image, features in enumerate(self.features):
            self.call.features = pointer(features)
            self.call.kept = None if kept is None else pointer(kept[image])
            yield self.call
