"""Packed weights: every number in the panel, row and column where the kernels look for it."""

import pytest
import torch

from native.machine import needs_native
from somamba.native.product import packed

pytestmark = needs_native
LANES = 16


@pytest.mark.parametrize(("width", "inner"), [(16, 8), (5, 3), (33, 7)])
def test_a_weight_is_found_in_its_panel(width, inner):
    weight = torch.arange(1.0, width * inner + 1).reshape(width, inner)
    panels = packed(weight).reshape(-1, inner, LANES)
    assert panels.shape[0] == -(-width // LANES)
    for column, k in ((0, 0), (width - 1, inner - 1), (width // 2, inner // 2)):
        assert panels[column // LANES, k, column % LANES] == weight[column, k]
    assert panels.sum() == weight.sum()


@pytest.mark.parametrize("inner", [6, 7])
def test_halves_are_paired_along_the_inner_axis(inner):
    weight = torch.arange(1.0, 5 * inner + 1).reshape(5, inner)
    panels = packed(weight, half=True)
    assert panels.dtype == torch.bfloat16
    assert panels.shape == (1, -(-inner // 2), LANES, 2)
    for column, k in ((0, 0), (4, 1), (2, inner - 1)):
        assert panels[0, k // 2, column, k % 2] == weight[column, k]
    assert panels.float().sum() == weight.sum()


def test_of_two_weights_each_starts_at_a_pair():
    first, second = torch.full((3, 5), 1.0), torch.full((3, 4), 2.0)
    panels = packed(first, second, half=True)
    inner = panels[0].transpose(1, 2).reshape(-1, LANES)[:, 0].tolist()
    assert inner == [1, 1, 1, 1, 1, 0, 2, 2, 2, 2]
    assert packed(first, second).shape == (1, 9, LANES, 1)
