"""State-Ownership Router: what may live in the recurrent state, and what may not (Sec. 2.3).

L  resident carrier, the only source of content tokens
G  non-resident evidence, for the B/C interfaces and the output outlet
"""

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somamba.models.layers.depthwise import DepthwiseGELU
from somamba.models.layers.precision import full
from somamba.native.weights import RouteWeights, layer_weights
from somamba.shapes import Grid


class Streams(NamedTuple):
    """The two streams of one unit."""

    carrier: Grid
    evidence: Grid | None


class BinomialCarrier(nn.Module):
    """Fixed low-pass projector: smooth, halve, restore (Eqs. 10-12). It learns nothing.

    Smoothing with [1, 4, 6, 4, 1] / 16 and averaging two neighbours is one filter, [1, 5, 10, 10, 5, 1] / 32, that
    moves in steps of two: the smoothed image at full size is never made.
    """

    taps: Tensor

    def __init__(self, compaction: str = "average") -> None:
        super().__init__()
        taps = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0] if compaction == "average" else [1.0, 4.0, 6.0, 4.0, 1.0]
        self.register_buffer("taps", torch.tensor(taps) / sum(taps), persistent=False)

    def forward(self, u: Grid) -> Grid:
        """Keep what survives neighbourhood averaging; same shape out as in."""
        with torch.autocast(u.device.type, enabled=False):
            return self._smooth(u)

    def _smooth(self, u: Grid) -> Grid:
        channels, size = u.shape[3], u.shape[1:3]
        row = self.taps.to(u.dtype).expand(channels, 1, 1, -1)
        v = F.pad(u.permute(0, 3, 1, 2), (2, 2, 2, 2), mode="reflect")
        v = F.conv2d(v, row.mT, stride=(2, 1), groups=channels)
        v = F.conv2d(v, row, stride=(1, 2), groups=channels)
        return F.interpolate(v, size=size, mode="bilinear", align_corners=False).permute(0, 2, 3, 1)


class Router(nn.Module):
    """Split features into two role pools, project each, assign the streams (Eqs. 7-14).

    With ``evidence=False`` (an ablation that uses no G) the second pool is not even projected.
    """

    def __init__(self, channels: int, d_model: int, projection: str, compaction: str, *, evidence: bool = True) -> None:
        super().__init__()
        pool = channels // 2
        self.used = channels if evidence else pool
        # Depthwise filters never mix channels, so one layer serves both pools without connecting them.
        self.filter = DepthwiseGELU(self.used) if projection == "depthwise" else nn.Identity()
        self.to_carrier = nn.Linear(pool, d_model)
        self.to_evidence = nn.Linear(pool, d_model) if evidence else None
        self.project = BinomialCarrier(compaction)

    def forward(self, features: Grid) -> Streams:
        """Return ``(L, G)``. Nothing is lost: ``L + G`` is the sum of the projected pools."""
        pools = self.filter(features[..., : self.used]).flatten(0, 2)
        pool = self.to_carrier.in_features
        grid = features.shape[:3]
        # Two-dimensional slices go to the matrix product as they lie, without a copy.
        candidate = full(self.to_carrier(pools[:, :pool]))
        carrier = self.project(candidate.unflatten(0, grid))
        if self.to_evidence is None:
            return Streams(carrier, None)
        evidence = full(self.to_evidence(pools[:, pool:]))
        # What the carrier rejects is added in place: G = U_nr + (U_car - L).
        evidence.add_(candidate).sub_(carrier.flatten(0, 2))
        return Streams(carrier, evidence.unflatten(0, grid))

    def weights(self, norm: nn.LayerNorm) -> RouteWeights:
        """The parameters as the compiled unit takes them; ``norm`` is the norm of the features before the router."""
        return RouteWeights(
            norm=layer_weights(norm),
            norm_eps=norm.eps,
            filter=layer_weights(self.filter),
            carrier=layer_weights(self.to_carrier),
            evidence=layer_weights(cast("nn.Linear", self.to_evidence)),
            smooth=self.project.taps,
        )
