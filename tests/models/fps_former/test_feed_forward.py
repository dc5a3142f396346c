"""The four paths of the feed-forward network equal the grouped convolutions they replace."""

import torch
import torch.nn.functional as F

from somamba.models.fps_former.feed_forward import FeedForward, Path


def test_a_path_equals_a_grouped_filter_with_two_inputs_for_each_output(rng):
    torch.manual_seed(0)
    path = Path(8, 3, 5)
    grid = torch.randn(2, 9, 11, 8, generator=rng)
    image = F.relu(F.conv2d(grid.permute(0, 3, 1, 2), path.first.weight, padding=1, groups=8))
    neighbours = torch.cat([image[:, [i, i + 4]] for i in range(4)], dim=1)
    weight = torch.stack([path.second.weight[[i, i + 4], 0] for i in range(4)])
    expected = F.relu(F.conv2d(neighbours, weight, padding=2, groups=4))
    torch.testing.assert_close(path(grid), expected.permute(0, 2, 3, 1))


def test_the_four_paths_see_fields_of_5_7_7_and_9():
    fields = []
    for path in FeedForward(4).paths:
        torch.nn.init.ones_(path.first.weight)
        torch.nn.init.ones_(path.second.weight)
        grid = torch.ones(1, 15, 15, 8, requires_grad=True)
        path(grid)[0, 7, 7, 0].backward()
        fields.append(int(grid.grad[0].any(dim=-1).any(dim=0).sum()))
    assert fields == [5, 7, 7, 9]


def test_the_size_of_the_grid_stays(rng):
    assert FeedForward(4)(torch.randn(2, 9, 11, 4, generator=rng)).shape == (2, 9, 11, 4)
