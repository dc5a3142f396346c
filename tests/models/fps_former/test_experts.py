"""The faster forms of the experts equal the plain ones."""

import pytest
import torch
import torch.nn.functional as F

from somamba.models.fps_former.experts import COUNT, Average, Depthwise, Experts, HybridExperts


@pytest.mark.parametrize("dilated", [False, True])
@pytest.mark.parametrize("kernel", [1, 3, 5, 7])
def test_a_depthwise_filter_equals_pytorchs(kernel, dilated, rng):
    step = 1 + dilated
    grid = torch.randn(2, 10, 14, 3, generator=rng)
    filtered = Depthwise(3, kernel, dilated=dilated)
    plain = F.conv2d(grid.permute(0, 3, 1, 2), filtered.weight, padding=step * (kernel // 2), dilation=step, groups=3)
    torch.testing.assert_close(filtered(grid), plain.permute(0, 2, 3, 1))


def test_the_average_leaves_out_what_lies_outside():
    assert torch.equal(Average()(torch.ones(1, 4, 5, 2)), torch.ones(1, 4, 5, 2))


def test_adding_the_experts_equals_mixing_their_maps_side_by_side(rng):
    torch.manual_seed(0)
    experts = Experts(4)
    grid = torch.randn(2, 6, 8, 4, generator=rng)
    weights = torch.rand(2, COUNT, generator=rng)
    maps = [expert[:-1](grid) * weights[:, i, None, None, None] for i, expert in enumerate(experts.experts)]
    mix = torch.cat([expert[-1].weight for expert in experts.experts], dim=1)
    torch.testing.assert_close(experts(grid, weights), F.relu(torch.cat(maps, dim=-1) @ mix.T))


def test_eight_experts_are_asked_four_times():
    refine = HybridExperts(4)
    assert [len(step.experts) for step in refine.steps] == [8] * 4


def test_each_slice_weighs_the_experts_for_itself(rng):
    torch.manual_seed(0)
    refine = HybridExperts(4)
    one, other = torch.randn(2, 1, 6, 8, 4, generator=rng)
    torch.testing.assert_close(refine(torch.cat((one, other))), torch.cat((refine(one), refine(other))))
