"""Tokens are the grid, read in the order that is named."""

import pytest
import torch

from somamba.models.so_mamba.tokens import tokenize, untokenize

ORDERS = ("rows", "rows_reversed", "columns", "columns_reversed")


def numbered(height=3, width=4):
    """Channel 0 holds the row, channel 1 the column."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([y, x], dim=-1)[None].float()


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ("rows", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
        ("rows_reversed", [(2, 1), (2, 0), (1, 1), (1, 0), (0, 1), (0, 0)]),
        ("columns", [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]),
        ("columns_reversed", [(2, 1), (1, 1), (0, 1), (2, 0), (1, 0), (0, 0)]),
    ],
)
def test_each_order_walks_its_path(order, path):
    tokens = tokenize(numbered(3, 2), order)
    assert [tuple(int(v) for v in token) for token in tokens[0]] == path


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [(3, 4), (5, 3), (1, 7)], ids=str)
def test_untokenize_undoes_it(order, size, rng):
    grid = torch.randn(2, *size, 5, generator=rng)
    assert torch.equal(untokenize(tokenize(grid, order), size, order), grid)


def test_row_order_copies_nothing(rng):
    grid = torch.randn(2, 3, 4, 5, generator=rng)
    tokens = tokenize(grid, "rows")
    assert tokens.data_ptr() == grid.data_ptr()
    assert untokenize(tokens, (3, 4), "rows").data_ptr() == grid.data_ptr()
