"""A grid cut into square windows, and put together again; any size, with or without a shift.

The last windows of a grid whose sides are no multiples are filled up with zeros. A shift is cyclic, so the windows at
the end hold pieces of both borders. Tokens that are not neighbours, filled-up ones among them, are `apart`: they
must not see each other.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from somamba.shapes import Grid

Windowed = Float[Tensor, "windows batch heads width tokens"]


@dataclass(frozen=True)
class Windows:
    """How a grid of ``rows`` times ``columns`` tokens is cut: squares of ``side``, moved by ``shift``."""

    rows: int
    columns: int
    side: int
    shift: int = 0

    def split(self, grid: Grid, heads: int = 1) -> Windowed:
        """Cut a grid; its channels become ``heads`` times their width."""
        spare = (0, 0, 0, -self.columns % self.side, 0, -self.rows % self.side)
        if any(spare):
            grid = F.pad(grid, spare)
        if self.shift:
            grid = grid.roll((-self.shift, -self.shift), dims=(1, 2))
        return rearrange(grid, "b (r s) (c t) (h w) -> (r c) b h w (s t)", s=self.side, t=self.side, h=heads)

    def merge(self, windows: Windowed) -> Grid:
        """Put the windows together again, which undoes `split`."""
        across = -(-self.columns // self.side)
        grid = rearrange(windows, "(r c) b h w (s t) -> b (r s) (c t) (h w)", c=across, s=self.side)
        if self.shift:
            grid = grid.roll((self.shift, self.shift), dims=(1, 2))
        return grid[:, : self.rows, : self.columns]

    def apart(self, start: int, stop: int) -> Bool[Tensor, "windows tokens tokens"] | None:
        """Which pairs of tokens of the windows from ``start`` to ``stop`` are no neighbours; None if all are."""
        if not any(self._mixed[start:stop]):
            return None
        regions = self._regions[start:stop]
        return regions[:, :, None] != regions[:, None, :]

    @cached_property
    def _mixed(self) -> list[bool]:
        """Whether each window holds more than one region."""
        mixed: list[bool] = (self._regions != self._regions[:, :1]).any(dim=1).tolist()
        return mixed

    @cached_property
    def _regions(self) -> UInt8[Tensor, "windows tokens"]:
        """A number for every token: tokens of one window are neighbours if they have the same."""
        regions = 4 * self._region(self.rows)[:, None] + self._region(self.columns)
        return rearrange(regions, "(r s) (c t) -> (r c) (s t)", s=self.side, t=self.side)

    def _region(self, size: int) -> UInt8[Tensor, " padded"]:
        """Along one axis after the shift: 0, 1 for what came round from the other end, 2 and 3 for the filling."""
        padded = size + -size % self.side
        place = torch.arange(padded)
        filling = (place + self.shift) % padded >= size
        return ((place >= padded - self.shift).byte() + 2 * filling.byte()).byte()
