"""The w-Laplacian block: a stream split into a low band and what it leaves over; and the bottleneck around it."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.initial import SPREAD

Feature = Float[Tensor, "batch channels y x"]
Halved = Float[Tensor, "batch channels rows columns"]


class Bottleneck(nn.Module):
    """Inverted bottleneck with a depthwise filter and a residual."""

    def __init__(self, channels: int, expansion: int) -> None:
        super().__init__()
        hidden = expansion * channels
        self.branch = nn.Sequential(
            nn.Conv2d(channels, hidden, kernel_size=1, bias=False),
            nn.GroupNorm(1, hidden),
            nn.GELU(),
            nn.Conv2d(hidden, hidden, kernel_size=3, padding=1, groups=hidden, bias=False),
            nn.GroupNorm(1, hidden),
            nn.GELU(),
            nn.Conv2d(hidden, channels, kernel_size=1, bias=False),
            nn.GELU(),
        )
        for layer in self.branch:
            if isinstance(layer, nn.Conv2d):
                nn.init.trunc_normal_(layer.weight, std=SPREAD)

    def forward(self, features: Feature) -> Feature:
        """Filter, with a residual."""
        return features + self.branch(features)


class Haar(nn.Module):
    """LL band of the orthonormal Haar wavelet: half the sum of four neighbours, which is twice their mean."""

    def forward(self, features: Feature) -> Halved:
        """Return the band, at half the height and width."""
        return 2 * F.avg_pool2d(features, 2)


class Binomial(nn.Module):
    """1 4 6 4 1 along both axes, then every second sample; the edge is reflected."""

    kernel: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernel", torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16, persistent=False)

    def forward(self, features: Feature) -> Halved:
        """Smooth and halve both sides."""
        channels = features.shape[1]
        kernel = self.kernel.to(features.dtype)
        padded = F.pad(features, (2, 2, 2, 2), mode="reflect")
        smooth = F.conv2d(padded, kernel.expand(channels, 1, 1, 5), stride=(1, 2), groups=channels)
        return F.conv2d(smooth, kernel[:, None].expand(channels, 1, 5, 1), stride=(2, 1), groups=channels)


LOW_PASS: dict[str, Callable[[], nn.Module]] = {
    "haar": Haar,
    "avgpool": partial(nn.AvgPool2d, 2),
    "binomial": Binomial,
}
"""Filters that halve both sides of a grid."""


class Laplacian(nn.Module):
    """``low = up(down(l))`` and ``high = l - low`` of ``l = bottleneck(stream)``."""

    def __init__(self, channels: int, expansion: int, band: str) -> None:
        super().__init__()
        self.bottleneck = Bottleneck(channels, expansion)
        self.down = LOW_PASS[band]()

    def forward(self, stream: Feature) -> tuple[Feature, Feature]:
        """Return low and high band, both of the size of the stream; their sum is ``l``."""
        features = self.bottleneck(stream)
        low = F.interpolate(self.down(features), scale_factor=2, mode="bilinear", align_corners=False)
        return low, features - low


class ChannelGate(nn.Module):
    """Every feature times a number between 0 and 1, for each token or, pooled, one for the whole channel."""

    def __init__(self, channels: int, *, pooled: bool) -> None:
        super().__init__()
        # On a pooled map of one pixel only the centre of the 3x3 filter counts; the public code has all nine weights.
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1) if pooled else nn.Identity(),
            nn.Conv2d(channels, channels, kernel_size=1),
            nn.GELU(),
            nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels),
            nn.Sigmoid(),
        )

    def forward(self, features: Feature) -> Feature:
        """Return the features times their gates."""
        return self.gate(features) * features
