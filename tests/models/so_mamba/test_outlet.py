"""The outlet refines evidence in place, without any recurrence."""

import pytest
import torch
import torch.nn.functional as F

from models.small import perturb
from somamba.models.so_mamba.outlet import Outlet


def by_definition(outlet, grid):
    """Widen, depthwise 3x3 with zero padding, GELU, narrow."""
    u = outlet.widen(grid).permute(0, 3, 1, 2)
    u = F.gelu(F.conv2d(u, outlet.filter.weight, outlet.filter.bias, padding=1, groups=u.shape[1]))
    return F.linear(u.permute(0, 2, 3, 1), outlet.narrow.weight, outlet.narrow.bias)


@pytest.mark.parametrize("ratio", [0, 1, 2])
def test_it_is_its_definition(ratio, rng):
    outlet = perturb(Outlet(6, ratio))
    grid = torch.randn(2, 5, 7, 6, generator=rng)
    torch.testing.assert_close(outlet(grid), by_definition(outlet, grid))


def test_the_ratio_widens():
    assert isinstance(Outlet(6, 0).widen, torch.nn.Identity)
    assert Outlet(6, 0).filter.weight.shape == (6, 1, 3, 3)
    assert Outlet(6, 2).filter.weight.shape == (12, 1, 3, 3)


def test_it_sees_nothing_but_neighbours(rng):
    grid = torch.randn(1, 7, 7, 6, generator=rng, requires_grad=True)
    perturb(Outlet(6, 0))(grid)[0, 3, 3].sum().backward()
    seen = grid.grad[0].any(dim=-1)
    assert seen[2:5, 2:5].all()
    assert seen.sum() == 9
