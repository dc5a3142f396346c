"""FPS-Former: a U-shaped transformer with frequency modulation, spatial attention and diverse scales."""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.models.adapters import ImageNetwork
from somamba.models.fps_former.attention import Attention
from somamba.models.fps_former.config import LEVELS, FpsFormerConfig
from somamba.models.fps_former.experts import HybridExperts
from somamba.models.fps_former.feed_forward import FeedForward
from somamba.shapes import Grid


class Block(nn.Module):
    """Attention and feed-forward network, each behind a norm and beside a skip."""

    def __init__(self, channels: int, heads: int, config: FpsFormerConfig) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(channels), Attention(channels, heads, config.window, config.bands))
        self.feed_forward = nn.Sequential(nn.LayerNorm(channels), FeedForward(channels))

    def forward(self, grid: Grid) -> Grid:
        """Return the features after attention and feed-forward network."""
        grid = grid + self.attention(grid)
        return grid + self.feed_forward(grid)


class Filter(nn.Conv2d):
    """3x3, from a grid to a grid."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__(channels, out, kernel_size=3, padding=1, bias=False)

    @override
    def forward(self, grid: Grid) -> Grid:
        """Return the filtered features."""
        return super().forward(grid.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class Down(nn.Module):
    """Half the resolution, twice the channels: each 2x2 square of tokens becomes one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.filter = Filter(channels, channels // 2)

    def forward(
        self, grid: Float[Tensor, "batch rows columns channels"]
    ) -> Float[Tensor, "batch rows//2 columns//2 2*channels"]:
        """Filter, and fold pixels into channels."""
        return rearrange(self.filter(grid), "b (y s) (x t) c -> b y x (c s t)", s=2, t=2)


class Up(nn.Module):
    """Twice the resolution, half the channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.filter = Filter(channels, 2 * channels)

    def forward(
        self, grid: Float[Tensor, "batch rows columns channels"]
    ) -> Float[Tensor, "batch 2*rows 2*columns channels//2"]:
        """Filter, and unfold channels into pixels."""
        return rearrange(self.filter(grid), "b y x (c s t) -> b (y s) (x t) c", s=2, t=2)


class FpsFormer(ImageNetwork):
    """Frequency modulation, spatial attention and diverse scales on four resolutions."""

    def __init__(self, config: FpsFormerConfig | None = None) -> None:
        config = config or FpsFormerConfig()
        super().__init__(coils=config.coils, mode=config.mode, multiple=2 ** (LEVELS - 1))
        self.config = config
        widths = [config.channels << level for level in range(LEVELS)]
        above = range(LEVELS - 1)
        images = 2 * config.coils
        self.stem = nn.Sequential(Filter(images, widths[0]), HybridExperts(widths[0]))
        self.encoders = nn.ModuleList(self._blocks(level, widths[level]) for level in range(LEVELS))
        self.downs = nn.ModuleList(Down(widths[level]) for level in above)
        self.ups = nn.ModuleList(Up(widths[level + 1]) for level in above)
        # At full resolution the skip is not reduced: that decoder keeps both halves.
        joined = [2 * widths[0], *widths[1:-1]]
        self.joins = nn.ModuleList(
            nn.Identity() if level == 0 else nn.Linear(2 * widths[level], widths[level], bias=False) for level in above
        )
        self.decoders = nn.ModuleList(self._blocks(level, joined[level]) for level in above)
        self.head = nn.Sequential(HybridExperts(joined[0]), Filter(joined[0], images))

    def _blocks(self, level: int, channels: int) -> nn.Sequential:
        heads = self.config.heads[level]
        return nn.Sequential(*(Block(channels, heads, self.config) for _ in range(self.config.blocks[level])))

    @override
    def refine(self, image: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        features = self.encoders[0](self.stem(image.permute(0, 2, 3, 1)))
        skips = []
        for down, encoder in zip(self.downs, self.encoders[1:], strict=True):
            skips.append(features)
            features = encoder(down(features))
        for level in reversed(range(LEVELS - 1)):
            joined = torch.cat((self.ups[level](features), skips.pop()), dim=-1)
            features = self.decoders[level](self.joins[level](joined))
        return image + self.head(features).permute(0, 3, 1, 2)
