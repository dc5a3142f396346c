"""Mamba-UNet: a U-Net of visual state-space (VSS) blocks on patches, image to image (Wang et al. 2024)."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.errors import ConfigError
from somamba.models.adapters import ImageNetwork, Mode
from somamba.models.layers.depthwise import DepthwiseSiLU
from somamba.models.layers.drop_path import DropPath, rising_rates
from somamba.models.layers.initial import start_linear_layers
from somamba.models.layers.patches import PatchEmbedding, PatchExpansion, Pixels
from somamba.models.layers.selective import SelectiveLayer
from somamba.options import check_at_least, check_probability, check_words
from somamba.scan.selective.directions import cross_merge, cross_scan
from somamba.shapes import Grid

DIRECTIONS = 4
EXPAND = 2  # inner width of a block, in multiples of its channels

MOST_LEVELS = 12
"""Channels double from level to level."""


@dataclass(frozen=True, kw_only=True)
class MambaUNetConfig:
    """Mamba-UNet. The defaults are the published network: 19.1 M parameters."""

    channels: int = 96
    """Width of the first level; it doubles with every level."""
    depths: tuple[int, ...] = (2, 2, 2, 2)
    """VSS blocks of each level on the way down; the way up has as many, without a second bottleneck."""
    patch: Literal[2, 4] = 4
    """Side of the image patch that becomes one token: 4 as published, 2 in the copies made for MRI."""
    d_state: int = 16
    """State size of the scan."""
    drop_path: float = 0.2
    """Stochastic depth in training: the rate rises from 0 at the first block to this at the last."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    mode: Mode = "as_published"
    """``as_published`` has no data consistency; ``+dc`` ends in data consistency."""
    backend: str = "auto"
    """Scan backend: auto, fused, triton, native, chunked or reference."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, channels=2, d_state=1, coils=1, depths=1)
        if not 1 <= len(self.depths) <= MOST_LEVELS:
            raise ConfigError(f"depths={self.depths} must name 1 to {MOST_LEVELS} levels, each with a block or more.")
        if self.channels % 2:
            raise ConfigError(f"channels={self.channels} is halved on the way up; choose an even number.")
        check_probability(self, "drop_path")


class SS2D(nn.Module):
    """Scans a grid in four directions, sums what they read and gates it (the 2-D selective scan of VMamba)."""

    def __init__(self, channels: int, d_state: int, backend: str) -> None:
        super().__init__()
        inner = EXPAND * channels
        self.in_proj = nn.Linear(channels, 2 * inner, bias=False)
        self.filter = DepthwiseSiLU(inner)
        self.selective = SelectiveLayer(
            inner, d_state, math.ceil(channels / 16), directions=DIRECTIONS, backend=backend
        )
        self.norm = nn.LayerNorm(inner)
        self.out_proj = nn.Linear(inner, channels, bias=False)

    def forward(self, grid: Grid) -> Grid:
        """Return the tokens after scans in four directions."""
        content, gate = self.in_proj(grid).chunk(2, dim=-1)
        readout = self.selective(cross_scan(self.filter(content), DIRECTIONS))
        merged = cross_merge(readout, (grid.shape[1], grid.shape[2]), DIRECTIONS)
        return self.out_proj(self.norm(merged) * F.silu(gate))


class VSSBlock(nn.Module):
    """A visual state-space block, ``x + SS2D(LN(x))``."""

    def __init__(self, channels: int, d_state: int, drop_rate: int | float, backend: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.mix = SS2D(channels, d_state, backend)
        self.drop_path = DropPath(drop_rate)

    def forward(self, grid: Grid) -> Grid:
        """Refine the tokens of one level."""
        return grid + self.drop_path(self.mix(self.norm(grid)))


class PatchMerging(nn.Module):
    """One level down: four neighbours become one token of twice the width."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels)
        self.project = nn.Linear(4 * channels, 2 * channels, bias=False)

    def forward(self, grid: Pixels) -> Grid:
        """Merge; both sides are even."""
        corners = [grid[:, y::2, x::2] for x in (0, 1) for y in (0, 1)]
        return self.project(self.norm(torch.cat(corners, dim=-1)))


class Enlarge(nn.Module):
    """Expansion to finer tokens, and a layer norm."""

    def __init__(self, channels: int, patch: int, finer: int) -> None:
        super().__init__()
        self.expand = PatchExpansion(channels, patch, finer)
        self.norm = nn.LayerNorm(finer)

    def forward(self, grid: Grid) -> Pixels:
        """Return finer tokens, normed."""
        return self.norm(self.expand(grid))


class MambaUNet(ImageNetwork):
    """U-Net whose convolutions are VSS blocks; skips are concatenated and brought back by a linear layer."""

    def __init__(self, config: MambaUNetConfig | None = None) -> None:
        config = config or MambaUNetConfig()
        levels = len(config.depths)
        super().__init__(coils=config.coils, mode=config.mode, multiple=config.patch * 2 ** (levels - 1))
        self.config = config
        widths = [config.channels * 2**level for level in range(levels)]
        rates = iter(rising_rates(config.drop_path, sum(config.depths)))
        rates_of = [[next(rates) for _ in range(depth)] for depth in config.depths]

        def blocks(level: int) -> nn.Sequential:
            return nn.Sequential(
                *(VSSBlock(widths[level], config.d_state, rate, config.backend) for rate in rates_of[level])
            )

        self.embed = PatchEmbedding(2 * config.coils, config.patch, widths[0])
        self.down = nn.ModuleList(blocks(level) for level in range(levels))
        self.merge = nn.ModuleList(PatchMerging(width) for width in widths[:-1])
        self.norm = nn.LayerNorm(widths[-1])
        # The way up, from the coarsest skip to the finest.
        above = list(reversed(range(levels - 1)))
        self.enlarge = nn.ModuleList(Enlarge(2 * widths[level], 2, widths[level]) for level in above)
        self.join = nn.ModuleList(nn.Linear(2 * widths[level], widths[level]) for level in above)
        self.up = nn.ModuleList(blocks(level) for level in above)
        self.norm_up = nn.LayerNorm(widths[0])
        self.to_pixels = Enlarge(widths[0], config.patch, widths[0])
        self.output = nn.Conv2d(widths[0], 2 * config.coils, kernel_size=1, bias=False)
        start_linear_layers(self)

    @override
    def refine(self, image: Float[Tensor, "batch images y x"]) -> Float[Tensor, "batch images y x"]:
        grid = self.embed(image)
        skips = []
        for level, merge in zip(self.down, self.merge, strict=False):
            # The skip leaves in front of the blocks, not behind them: so in the public code.
            skips.append(grid)
            grid = merge(level(grid))
        grid = self.norm(self.down[-1](grid))
        for enlarge, join, level in zip(self.enlarge, self.join, self.up, strict=True):
            grid = level(join(torch.cat((enlarge(grid), skips.pop()), dim=-1)))
        pixels = self.to_pixels(self.norm_up(grid))
        return self.output(pixels.permute(0, 3, 1, 2))
