"""Hybrid experts: eight filters side by side, weighted by what the image needs."""

from functools import reduce
from operator import add

import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.shapes import Grid

STEPS = 4
KERNELS = (1, 3, 5, 7)
DILATED = (3, 5, 7)
COUNT = len(KERNELS) + len(DILATED) + 1


class Depthwise(nn.Conv2d):
    """Each channel of a grid filtered on its own; the size stays.

    A filter with every second tap is a plain one on the four images of every second pixel, and a filter of one tap is a
    factor: PyTorch on CPU is far better at these.
    """

    def __init__(self, channels: int, kernel: int, *, dilated: bool = False) -> None:
        super().__init__(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False)
        self.step = 2 if dilated else 1

    @override
    def forward(self, grid: Grid) -> Grid:
        """Filter a grid whose sides are even."""
        if self.kernel_size == (1, 1):
            return grid * self.weight.flatten()
        apart = rearrange(grid, "b (y s) (x t) c -> (s t b) y x c", s=self.step, t=self.step)
        filtered = super().forward(apart.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return rearrange(filtered, "(s t b) y x c -> b (y s) (x t) c", s=self.step, t=self.step)


class Average(nn.AvgPool2d):
    """The mean of 3x3 neighbours, of those that there are."""

    def __init__(self) -> None:
        super().__init__(3, stride=1, padding=1, count_include_pad=False)

    @override
    def forward(self, grid: Grid) -> Grid:
        """Average over neighbouring pixels."""
        return super().forward(grid.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def _separable(channels: int, kernel: int) -> list[nn.Module]:
    def once() -> list[nn.Module]:
        return [Depthwise(channels, kernel), nn.Linear(channels, channels, bias=False)]

    return [*once(), nn.ReLU(), *once()]


class Experts(nn.Module):
    """Eight filters, weighted and mixed by a 1x1 layer.

    That layer is linear: each expert ends in its part of it, and the results are added. This equals mixing all maps
    side by side, which would take eight times the memory.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        experts = [_separable(channels, kernel) for kernel in KERNELS]
        experts += [
            [Depthwise(channels, kernel, dilated=True), nn.Linear(channels, channels, bias=False)] for kernel in DILATED
        ]
        experts += [[Average()]]
        self.experts = nn.ModuleList(nn.Sequential(*expert, self._share(channels)) for expert in experts)

    @staticmethod
    def _share(channels: int) -> nn.Linear:
        share = nn.Linear(channels, channels, bias=False)
        # The shares are drawn as the weights of one layer.
        nn.init.uniform_(share.weight, -((COUNT * channels) ** -0.5), (COUNT * channels) ** -0.5)
        return share

    def forward(self, grid: Grid, weights: Float[Tensor, "batch experts"]) -> Grid:
        """Return the weighted sum of all experts, positive parts only."""
        weighted = (w[:, None, None, None] * expert(grid) for w, expert in zip(weights.mT, self.experts, strict=True))
        return F.relu(reduce(add, weighted))


class HybridExperts(nn.Module):
    """Four rounds of experts, all weighted by one look at the mean of the features."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = 2 * STEPS * COUNT
        self.weigh = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, STEPS * COUNT))
        self.enter = nn.Linear(channels, channels, bias=False)
        self.steps = nn.ModuleList(Experts(channels) for _ in range(STEPS))

    def forward(self, grid: Grid) -> Grid:
        """Return the features refined by four rounds of experts."""
        weights = self.weigh(grid.mean(dim=(1, 2))).unflatten(1, (STEPS, COUNT)).softmax(dim=-1)
        grid = F.relu(self.enter(grid))
        for step, weight in zip(self.steps, weights.unbind(dim=1), strict=True):
            grid = F.relu(step(grid, weight) + grid)
        return grid
