"""The two attentions of a block: between the tokens of a window, and between channels by frequency band.

The paper hashes the tokens of a window and groups the similar ones. In its code a group is as large as the window, so
sorting changes nothing (``docs/models/fps_former.md``); here every token sees its window.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.precision import full
from somamba.models.layers.window_attention import Pair, WindowAttention
from somamba.models.layers.windows import Windows
from somamba.shapes import Grid

WIDTH = 3  # the attention inside windows works with three times the channels
FIRST_BLUR, BLUR_STEP = 1.6, 2 ** (1 / 3)  # standard deviations in pixels, the customary ones of a scale space


class SpatialAttention(nn.Module):
    """Attention between the tokens of a window, without a scale."""

    def __init__(self, channels: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.to_q, self.to_k, self.to_v = (nn.Linear(channels, WIDTH * channels, bias=False) for _ in range(3))
        self.attend = WindowAttention()
        self.project = nn.Linear(WIDTH * channels, channels, bias=False)

    def forward(self, grid: Grid) -> Grid:
        """Return the attended features."""
        windows = Windows(grid.shape[1], grid.shape[2], self.window)
        q, k, v = (windows.split(to(grid), self.heads) for to in (self.to_q, self.to_k, self.to_v))
        return self.project(windows.merge(self.attend([Pair(q, k)], v, windows)))


class FrequencyAttention(nn.Module):
    """Attention between channels, whose map is a sum over frequency bands: the features, and differences of blurs."""

    def __init__(self, channels: int, bands: int) -> None:
        super().__init__()
        self.bands = bands
        self.to_q = nn.Conv2d(channels, channels, kernel_size=1)
        for i in range(bands - 1):
            blur = gaussian(2 * i + 3, FIRST_BLUR * BLUR_STEP**i).expand(channels, 1, -1, -1)
            self.register_buffer(f"blur_{i}", blur.clone(), persistent=False)

    def forward(self, grid: Grid) -> Grid:
        """Return the attended features."""
        q = full(self.to_q(grid.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)).softmax(dim=-1)
        return (q.flatten(1, 2) @ self.map(full(grid))).unflatten(1, grid.shape[1:3])

    def map(self, grid: Grid) -> Float[Tensor, "batch channels channels"]:
        """How much of each channel (last axis) answers to each channel of the queries."""
        features = grid.permute(0, 3, 1, 2)
        total = _affinity(grid).softmax(dim=-1)
        for i in range(self.bands - 1):
            kernel = self.get_buffer(f"blur_{i}")
            blurred = F.conv2d(features, kernel, padding=kernel.shape[-1] // 2, groups=len(kernel))
            total = total + _affinity((features - blurred).permute(0, 2, 3, 1))
            features = blurred
        return total


def _affinity(band: Grid) -> Float[Tensor, "batch channels channels"]:
    """The mean of every channel, weighted by the softmax over space of every other."""
    tokens = band.flatten(1, 2)
    return tokens.softmax(dim=1).mT @ tokens


def gaussian(size: int, sigma: int | float) -> Float[Tensor, "size size"]:
    """A Gaussian on ``size`` times ``size`` pixels whose sum is 1."""
    place = torch.arange(size, dtype=torch.float64) - size // 2
    line = torch.exp(-place.square() / (2 * sigma**2))
    line = line / line.sum()
    return torch.outer(line, line).to(torch.get_default_dtype())


class Attention(nn.Module):
    """Both attentions, mixed by two weights for each channel."""

    def __init__(self, channels: int, heads: int, window: int, bands: int) -> None:
        super().__init__()
        self.spatial = SpatialAttention(channels, heads, window)
        self.frequency = FrequencyAttention(channels, bands)
        self.mix = nn.Parameter(torch.empty(2, channels).uniform_(-(0.5**0.5), 0.5**0.5))

    def forward(self, grid: Grid) -> Grid:
        """Attend twice and mix."""
        return self.mix[0] * self.spatial(grid) + self.mix[1] * self.frequency(grid)
