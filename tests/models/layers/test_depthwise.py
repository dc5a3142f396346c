"""Depthwise filters see one channel and a 3x3 neighbourhood."""

import torch
import torch.nn.functional as F

from somamba.models.layers.depthwise import DepthwiseSiLU


def test_each_channel_is_filtered_on_its_own_and_activated(rng):
    layer = DepthwiseSiLU(3)
    grid = torch.randn(2, 5, 7, 3, generator=rng)
    padded = F.pad(grid, (0, 0, 1, 1, 1, 1))
    neighbours = torch.stack([padded[:, y : y + 5, x : x + 7] for y in range(3) for x in range(3)], dim=-1)
    expected = F.silu((neighbours * layer.weight.view(3, 9)).sum(-1) + layer.bias)
    torch.testing.assert_close(layer(grid), expected)
