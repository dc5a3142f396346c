"""Windows cut any grid, come together again, and know which tokens are neighbours."""

import itertools

import pytest
import torch

from somamba.models.layers.windows import Windows

GRIDS = [(8, 8), (16, 24), (13, 17), (3, 30), (1, 1)]
every_grid = pytest.mark.parametrize("size", GRIDS, ids=str)
shifted_or_not = pytest.mark.parametrize("shift", [0, 4])


def numbered(windows):
    """The grid of token numbers, cut; filled-up tokens are 0, the first token is 1."""
    grid = 1 + torch.arange(windows.rows * windows.columns, dtype=torch.float64)
    return windows.split(grid.reshape(1, windows.rows, windows.columns, 1))[:, 0, 0, 0].long()


@every_grid
@shifted_or_not
def test_merging_undoes_splitting(size, shift, rng):
    grid = torch.randn(2, *size, 6, generator=rng)
    windows = Windows(*size, 8, shift)
    assert torch.equal(windows.merge(windows.split(grid, heads=3)), grid)


def test_a_window_is_a_square_of_the_grid(rng):
    grid = torch.randn(1, 16, 24, 4, generator=rng)
    cut = Windows(16, 24, 8).split(grid, heads=2)
    assert cut.shape == (6, 1, 2, 2, 64)
    square = grid[0, 8:16, 8:16].reshape(64, 2, 2)  # tokens, heads, width
    assert torch.equal(cut[4, 0], square.permute(1, 2, 0))


def test_a_shift_moves_the_windows_down_and_to_the_right(rng):
    grid = torch.randn(1, 16, 24, 1, generator=rng)
    cut = Windows(16, 24, 8, 4).split(grid)
    assert torch.equal(cut[0, 0, 0, 0], grid[0, 4:12, 4:12, 0].flatten())


@every_grid
@shifted_or_not
def test_apart_are_the_filling_and_what_came_round_from_the_other_end(size, shift):
    windows = Windows(*size, 8, shift)
    tokens = numbered(windows)
    apart = windows.apart(0, len(tokens))
    apart = torch.zeros(len(tokens), 64, 64, dtype=torch.bool) if apart is None else apart
    for window, i, j in itertools.product(range(len(tokens)), range(0, 64, 7), range(0, 64, 5)):
        one, other = int(tokens[window, i]) - 1, int(tokens[window, j]) - 1
        if min(one, other) < 0:
            assert apart[window, i, j] or max(one, other) < 0, "filling may only see filling"
            continue
        squares = [tuple((place - shift) // 8 for place in divmod(token, size[1])) for token in (one, other)]
        assert apart[window, i, j] == (squares[0] != squares[1])


def test_windows_of_neighbours_alone_say_so():
    windows = Windows(24, 24, 8, 4)
    assert windows.apart(0, 2) is None
    assert windows.apart(0, 3) is not None
    assert Windows(24, 24, 8).apart(0, 9) is None
