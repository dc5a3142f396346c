"""Depthwise 3x3 convolutions with their activation, on a channels-last grid."""

import torch.nn.functional as F
from torch import nn

from somamba.models.layers.precision import full
from somamba.native.depthwise import depthwise_gelu
from somamba.native.library import usable
from somamba.shapes import Grid


class DepthwiseGELU(nn.Conv2d):
    """Each channel filtered on its own, then GELU; zero padding keeps the size."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, grid: Grid) -> Grid:
        """Return the filtered and activated features."""
        grid = full(grid)
        if usable(grid, self.weight):
            return depthwise_gelu(grid, self.weight, self.bias)
        filtered = self._conv_forward(grid.permute(0, 3, 1, 2), self.weight, self.bias)
        return F.gelu(filtered).permute(0, 2, 3, 1)


class DepthwiseSiLU(nn.Conv2d):
    """Each channel filtered on its own, then SiLU; zero padding keeps the size."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, grid: Grid) -> Grid:
        """Return the filtered and activated features."""
        return F.silu(self._conv_forward(grid.permute(0, 3, 1, 2), self.weight, self.bias)).permute(0, 2, 3, 1)
