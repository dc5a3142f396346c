"""Scale diversification: a feed-forward network of four paths with different filters."""

import torch
import torch.nn.functional as F
from torch import nn

from somamba.shapes import Grid


class Path(nn.Module):
    """Filter each channel, then filter it again and add neighbours two by two; ReLU behind both.

    The second filter has two input channels for each of the output. A depthwise one whose outputs are added is the
    same, and CPUs are several times faster at it.
    """

    def __init__(self, channels: int, first: int, second: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, first, padding=first // 2, groups=channels, bias=False)
        self.second = nn.Conv2d(channels, channels, second, padding=second // 2, groups=channels, bias=False)

    def forward(self, grid: Grid) -> Grid:
        """Half as many channels come out as went in."""
        filtered = self.second(F.relu(self.first(grid.permute(0, 3, 1, 2))))
        left, right = filtered.permute(0, 2, 3, 1).chunk(2, dim=-1)
        return F.relu(left + right)


class FeedForward(nn.Module):
    """Four times the channels; one half goes through 3-3 and 5-3 filters, the other through 3-5 and 5-5."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.expand = nn.ModuleList(nn.Linear(channels, wide, bias=False) for _ in range(2))
        self.paths = nn.ModuleList(Path(wide, first, second) for second in (3, 5) for first in (3, 5))
        self.project = nn.Linear(4 * channels, channels, bias=False)

    def forward(self, grid: Grid) -> Grid:
        """Filter at several scales and mix."""
        scales = []
        for expand, paths in zip(self.expand, (self.paths[:2], self.paths[2:]), strict=True):
            expanded = expand(grid)
            scales += [path(expanded) for path in paths]
        return self.project(torch.cat(scales, dim=-1))
