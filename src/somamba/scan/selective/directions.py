"""The orders in which a scan walks a grid of tokens.

1 direction: rows, the raster. 2: rows, and rows reversed. 4: rows, columns, rows reversed, columns reversed, the cross
scan of VMamba. The channels of one direction are a consecutive part of all channels: a group of the selective scan.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from somamba.errors import ConfigError, InputError

DIRECTIONS = (1, 2, 4)


def cross_scan(grid: Tensor, directions: int) -> Float[Tensor, "batch tokens channels"]:
    """Lay a grid ``(batch, height, width, channels)`` out once for each direction."""
    _check(directions)
    if grid.ndim != 4:
        raise InputError(f"A scan walks a grid (batch, height, width, channels), got {tuple(grid.shape)}.")
    rows = grid.flatten(1, 2)
    if directions == 1:
        return rows
    forward = rows if directions == 2 else torch.cat([rows, grid.transpose(1, 2).flatten(1, 2)], dim=-1)
    return torch.cat([forward, forward.flip(1)], dim=-1)


def cross_merge(tokens: Tensor, size: tuple[int, int], directions: int) -> Float[Tensor, "batch height width channels"]:
    """Bring every direction back to the grid of ``size`` (height, width) and sum; the adjoint of `cross_scan`.

    Args:
        tokens: The tokens of every direction.
        size: Height and width.
        directions: The directions.
    """
    _check(directions)
    height, width = size
    fits = tokens.ndim == 3 and tokens.shape[1] == height * width and tokens.shape[2] % directions == 0
    if min(size) < 1 or not fits:
        raise InputError(
            f"To merge {directions} directions on a grid of {height} x {width}, tokens must be "
            f"(batch, {height * width}, channels) with channels divisible by {directions}; got {tuple(tokens.shape)}."
        )
    if directions == 1:
        return tokens.unflatten(1, (height, width))
    forward, backward = tokens.chunk(2, dim=-1)
    both = forward + backward.flip(1)
    if directions == 2:
        return both.unflatten(1, (height, width))
    rows, columns = both.chunk(2, dim=-1)
    return rows.unflatten(1, (height, width)) + columns.unflatten(1, (width, height)).transpose(1, 2)


def _check(directions: int) -> None:
    if directions not in DIRECTIONS:
        raise ConfigError(f"A grid is walked in 1, 2 or 4 directions, got {directions}.")
