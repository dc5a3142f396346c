"""Mamba in both directions of the raster, gated by the neighbourhood of every pixel."""

import math

import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.precision import full
from somamba.models.layers.selective import SelectiveLayer
from somamba.scan.selective.directions import cross_merge, cross_scan
from somamba.shapes import Grid

DIRECTIONS = 2
EXPAND = 2
FILTER = 4  # taps of the causal filter in front of the scan


class BidirectionalMamba(nn.Module):
    """Mamba-1 forwards and backwards, without its output projection.

    Its matrices are applied as functions, like in the fused kernel of the original: hooks on layers, the paper's way
    of counting, do not see them.
    """

    def __init__(self, channels: int, d_state: int, backend: str) -> None:
        super().__init__()
        inner = EXPAND * channels
        self.in_proj = nn.Linear(channels, 2 * inner, bias=False)
        self.filter = nn.Conv1d(DIRECTIONS * inner, DIRECTIONS * inner, FILTER, groups=DIRECTIONS * inner)
        rank = math.ceil(channels / 16)
        self.selective = SelectiveLayer(inner, d_state, rank, directions=DIRECTIONS, backend=backend)

    def forward(self, grid: Grid) -> Grid:
        """Return what both directions read, gated."""
        content, gate = F.linear(grid, self.in_proj.weight).chunk(2, dim=-1)
        tokens = cross_scan(content, DIRECTIONS)
        readout = self.selective(F.silu(self._filter(tokens)))
        return cross_merge(readout, (grid.shape[1], grid.shape[2]), DIRECTIONS) * F.silu(gate)

    def _filter(self, tokens: Float[Tensor, "batch tokens channels"]) -> Float[Tensor, "batch tokens channels"]:
        """Mix each token with those before it: zeros stand in front of the first."""
        earlier = F.pad(tokens.mT, (FILTER - 1, 0))
        return F.conv1d(earlier, self.filter.weight, self.filter.bias, groups=self.filter.groups).mT


class Scanning(nn.Module):
    """``W_o [Mamba(LN w) * SiLU(neighbourhood(LN w))]``: global and local integration of the operator's kernel."""

    def __init__(self, channels: int, d_state: int, backend: str) -> None:
        super().__init__()
        inner = EXPAND * channels
        self.norm = nn.LayerNorm(channels)
        self.norm_local = nn.LayerNorm(channels)
        self.mamba = BidirectionalMamba(channels, d_state, backend)
        self.local = nn.Sequential(
            nn.Conv2d(channels, inner, kernel_size=3, padding=1),
            nn.SiLU(),
            nn.Conv2d(inner, inner, kernel_size=3, padding=1),
        )
        self.out_proj = nn.Linear(inner, channels, bias=False)

    def forward(self, features: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        """Return the scanned features, gated by the local ones."""
        grid = rearrange(features, "b c y x -> b y x c")
        local = self.local(rearrange(self.norm_local(grid), "b y x c -> b c y x"))
        gated = self.mamba(self.norm(grid)) * F.silu(full(rearrange(local, "b c y x -> b y x c")))
        return rearrange(F.linear(gated, self.out_proj.weight), "b y x c -> b c y x")
