"""Recurrent pyramid attention: heads that see different scales, and weights that remember the iteration before.

q k v  queries, keys, values      S  attention map before the softmax      lambda  share of the remembered map
"""

import torch
from torch import Tensor, nn

from somamba.models.layers.window_attention import Pair, WindowAttention
from somamba.models.layers.windows import Windows
from somamba.models.recon_former.config import KERNELS
from somamba.shapes import Grid

Memory = list[Pair]
"""The attention map of one block, carried over iterations as pairs of queries and keys: ``S = sum_i q_i^T k_i``.

``S_t = lambda S_{t-1} + (1 - lambda) q_t^T k_t`` is such a sum again, so maps need not be kept. A map has 64 numbers
for each token and head; a pair has 8 to 32, and a backward pass keeps it anyway. Position bias and mask are the same
in every iteration, hence unchanged by the recurrence, and are added behind it.
"""


class PyramidAttention(nn.Module):
    """Attention inside windows; one third of the heads looks at points, one at 3x3, one at 5x5 neighbourhoods."""

    offsets: Tensor

    def __init__(self, channels: int, heads: int, window: int, shift: int) -> None:
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        share = 2 * channels // len(KERNELS)
        self.to_qk = nn.ModuleList(_context(channels, share, kernel) for kernel in KERNELS)
        self.to_v = nn.Conv2d(channels, channels, kernel_size=1)
        self.bias = nn.Parameter(torch.empty(heads, (2 * window - 1) ** 2))
        nn.init.trunc_normal_(self.bias, std=0.02)
        self.register_buffer("offsets", _offsets(window), persistent=False)
        self.share = nn.Parameter(torch.tensor(0.25))  # lambda; the start is the authors'
        self.attend = WindowAttention()
        self.project = nn.Linear(channels, channels)

    def forward(self, grid: Grid, memory: Memory | None) -> tuple[Grid, Memory]:
        """Attend, with the map remembered from the iteration before if there is one; return what to remember now."""
        rows, columns = grid.shape[1:3]
        # A grid of one window is not shifted: that would only cut it.
        windows = Windows(rows, columns, self.window, self.shift if min(rows, columns) > self.window else 0)
        image = grid.permute(0, 3, 1, 2)
        scales = [windows.split(_grid(to_qk(image)), 2 * self.heads // len(KERNELS)) for to_qk in self.to_qk]
        q, k = (torch.cat(parts, dim=2) for parts in zip(*(scale.chunk(2, dim=2) for scale in scales), strict=True))
        v = windows.split(_grid(self.to_v(image)), self.heads)
        memory = self._remember(Pair(q * v.shape[3] ** -0.5, k), memory)
        attended = self.attend(memory, v, windows, self.bias[:, self.offsets])
        return self.project(windows.merge(attended)), memory

    def _remember(self, new: Pair, memory: Memory | None) -> Memory:
        if memory is None:
            return [new]
        return [*(Pair(self.share * q, k) for q, k in memory), Pair((1 - self.share) * new.q, new.k)]


def _grid(image: Tensor) -> Grid:
    return image.permute(0, 2, 3, 1)


def _context(channels: int, out: int, kernel: int) -> nn.Module:
    """Queries and keys from a neighbourhood; a larger one through a bottleneck, narrow enough to cost no more."""
    if kernel == 1:
        return nn.Conv2d(channels, out, kernel)
    narrow = out // {3: 4, 5: 8}[kernel]
    return nn.Sequential(
        nn.Conv2d(channels, narrow, kernel, padding=kernel // 2),
        nn.LeakyReLU(0.2),
        nn.Conv2d(narrow, narrow, kernel_size=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(narrow, out, kernel, padding=kernel // 2),
    )


def _offsets(window: int) -> Tensor:
    """For each pair of tokens of a window, the number of their distance in the table of position biases."""
    place = torch.arange(window)
    apart = place[:, None] - place + window - 1
    offsets = apart[:, None, :, None] * (2 * window - 1) + apart[:, None, :]
    return offsets.reshape(window * window, window * window)
