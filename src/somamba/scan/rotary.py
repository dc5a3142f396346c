"""The data-dependent rotation of B and C: Mamba-3's complex state, written with real numbers."""

import math

import torch
from einops import rearrange, repeat
from jaxtyping import Float
from torch import Tensor

from somamba.scan.inputs import Angles, Interface, InterfaceBias, PerToken


def phases(angles: Angles, dt: PerToken) -> Angles:
    """Angle turned up to and including each token: the running sum of ``pi * tanh(angle) * dt``, within one turn.

    Summed in float64: after 25,600 tokens a float32 sum has lost the digits that sine and cosine need.
    """
    turned = (math.pi * torch.tanh(angles).double() * dt[..., None].double()).cumsum(dim=1)
    return torch.remainder(turned, 2 * math.pi).to(angles.dtype)


def rotate(
    vectors: Float[Tensor, "*axes n"], cosine: Float[Tensor, "*#axes angles"], sine: Float[Tensor, "*#axes angles"]
) -> Float[Tensor, "*axes n"]:
    """Turn entry ``i`` against entry ``i + n/2`` by angle ``i``; entries without an angle pass.

    Args:
        vectors: The vectors.
        cosine: The cosines of the angles.
        sine: The sines of the angles.
    """
    n, turned = vectors.shape[-1], cosine.shape[-1]
    if 2 * turned == n:
        first, second = vectors.chunk(2, dim=-1)
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)
    first, first_rest, second, second_rest = vectors.split(
        [turned, n // 2 - turned, turned, n - n // 2 - turned], dim=-1
    )
    return torch.cat([first * cosine - second * sine, first_rest, first * sine + second * cosine, second_rest], dim=-1)


def per_head(interface: Interface, bias: InterfaceBias) -> Float[Tensor, "batch tokens heads rank n"]:
    """Give every head its own copy of its group's interface and add the bias."""
    groups = interface.shape[3]
    shared = rearrange(interface, "batch tokens rank groups n -> batch tokens groups rank n")
    return repeat(shared, "b t g r n -> b t (g copies) r n", copies=bias.shape[0] // groups) + bias
