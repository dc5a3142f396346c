"""A grid is walked in the orders named, each direction a part of the channels, and merged by summing."""

import pytest
import torch

from somamba.errors import ConfigError, InputError
from somamba.scan.selective.backends import selective_scan
from somamba.scan.selective.directions import DIRECTIONS, cross_merge, cross_scan
from somamba.scan.selective.inputs import SelectiveInputs


@pytest.fixture
def grid(rng):
    return torch.randn(2, 4, 5, 3, generator=rng, dtype=torch.float64)


def test_the_orders_are_those_of_the_cross_scan():
    grid = torch.tensor([[1, 2, 3], [4, 5, 6]]).reshape(1, 2, 3, 1).float()
    rows, columns = [1, 2, 3, 4, 5, 6], [1, 4, 2, 5, 3, 6]
    walks = {
        directions: [walk.tolist() for walk in cross_scan(grid, directions)[0].unbind(-1)] for directions in DIRECTIONS
    }
    assert walks == {1: [rows], 2: [rows, rows[::-1]], 4: [rows, columns, rows[::-1], columns[::-1]]}


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_the_channels_of_a_direction_stand_together(directions, grid):
    for channel in range(3):
        alone = cross_scan(grid[..., channel : channel + 1], directions)
        assert torch.equal(cross_scan(grid, directions)[..., channel::3], alone)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_merging_what_was_walked_gives_every_direction_once(directions, grid):
    torch.testing.assert_close(cross_merge(cross_scan(grid, directions), (4, 5), directions), directions * grid)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_merging_is_the_adjoint_of_walking(directions, grid, rng):
    tokens = torch.randn(2, 20, 3 * directions, generator=rng, dtype=torch.float64)
    left = (cross_scan(grid, directions) * tokens).sum()
    right = (grid * cross_merge(tokens, (4, 5), directions)).sum()
    torch.testing.assert_close(left, right)


def scan_grid(grid, directions, *, order=None):
    """Scan every direction with arguments of its own, which come from the content at each place, and merge.

    ``order`` deals the directions' parameters out anew.
    """
    channels = grid.shape[-1]
    rng = torch.Generator().manual_seed(3)

    def draw(*shape):
        return torch.rand(directions, channels, *shape, generator=rng, dtype=torch.float64)

    A, B, C, D = -draw(2), draw(2), draw(2), draw()
    if order is not None:
        A, B, C, D = (tensor[order] for tensor in (A, B, C, D))
    u = cross_scan(grid, directions)
    by_direction = u.unflatten(2, (directions, channels))
    B, C = (torch.einsum("btdc,dcn->btdn", by_direction, tensor) for tensor in (B, C))
    readout = selective_scan(SelectiveInputs(u, u.square() + 0.1, A.flatten(0, 1), B, C, D.flatten())).readout
    return cross_merge(readout, grid.shape[1:3], directions)


def test_transposing_the_grid_exchanges_rows_and_columns(grid):
    transposed = scan_grid(grid.transpose(1, 2), 4, order=[1, 0, 3, 2])
    torch.testing.assert_close(transposed.transpose(1, 2), scan_grid(grid, 4))
    assert not torch.allclose(scan_grid(grid.transpose(1, 2), 4).transpose(1, 2), scan_grid(grid, 4))


@pytest.mark.parametrize(("directions", "order"), [(2, [1, 0]), (4, [2, 3, 0, 1])])
def test_turning_the_grid_by_half_a_turn_exchanges_forward_and_reversed(directions, order, grid):
    turned = scan_grid(grid.flip(1, 2), directions, order=order)
    torch.testing.assert_close(turned.flip(1, 2), scan_grid(grid, directions))
    assert not torch.allclose(scan_grid(grid.flip(1, 2), directions).flip(1, 2), scan_grid(grid, directions))


def test_one_direction_sees_only_what_came_before(grid):
    changed = grid.clone()
    changed[:, 2, 3] += 1
    difference = (scan_grid(changed, 1) - scan_grid(grid, 1)).abs().sum(-1).flatten(1)
    assert not difference[:, : 2 * 5 + 3].any()
    assert difference[:, 2 * 5 + 3 :].all()


@pytest.mark.parametrize("directions", [0, 3, 8, -1])
def test_other_numbers_of_directions_are_refused(directions, grid):
    with pytest.raises(ConfigError, match=f"1, 2 or 4 directions, got {directions}"):
        cross_scan(grid, directions)
    with pytest.raises(ConfigError, match=f"1, 2 or 4 directions, got {directions}"):
        cross_merge(grid.flatten(1, 2), (4, 5), directions)


def test_a_grid_without_batch_is_refused(grid):
    with pytest.raises(InputError, match=r"\(batch, height, width, channels\), got \(4, 5, 3\)"):
        cross_scan(grid[0], 4)


@pytest.mark.parametrize(("size", "directions"), [((4, 4), 1), ((4, 5), 4), ((4, 5), 2), ((-4, -5), 1)])
def test_tokens_that_do_not_fill_the_grid_are_refused(size, directions, grid):
    with pytest.raises(InputError, match="To merge"):
        cross_merge(grid.flatten(1, 2), size, directions)
