"""Attention inside windows, a few windows at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.precision import full
from somamba.models.layers.windows import Windowed, Windows

_AT_ONCE = 1 << 18  # weights made at once on one CPU thread: 1 MB, which stays in its cache
_AT_ONCE_ON_GPU = 1 << 26


class Pair(NamedTuple):
    """Queries and keys, of any depth."""

    q: Windowed
    k: Windowed


class WindowAttention(nn.Module):
    """``softmax(sum_i q_i^T k_i + bias)`` times the values, where a token sees its neighbours inside its window.

    All weights of a layer are up to 64 numbers for each token and head, far more than the features. Made and used in
    portions they never leave the cache: on CPU this is two to three times faster than one large product.
    """

    def __init__(self) -> None:
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(
        self,
        pairs: Sequence[Pair],
        v: Windowed,
        windows: Windows,
        bias: Float[Tensor, "heads tokens tokens"] | None = None,
    ) -> Windowed:
        """Return the values that each token attends to; queries are scaled already.

        Args:
            pairs: Queries and keys.
            v: The values.
            windows: How the image was cut, and which tokens do not see each other.
            bias: What is added to the products of queries and keys.
        """
        _, batch, heads, _, tokens = v.shape
        portion = max(1, _at_once(v.device) // (batch * heads * tokens**2))
        queries, keys = (
            zip(*(part.split(portion) for part in parts), strict=True) for parts in zip(*pairs, strict=True)
        )
        attended, start = [], 0
        for q, k, values in zip(queries, keys, v.split(portion), strict=True):
            scores = full(torch.cat(q, dim=-2).mT @ torch.cat(k, dim=-2))
            if bias is not None:
                scores += bias
            apart = windows.apart(start, start + len(scores))
            if apart is not None:
                scores += torch.zeros(apart.shape).masked_fill(apart, -torch.inf).to(scores)[:, None, None]
            attended.append(values @ self.softmax(scores).mT.to(values.dtype))
            start += len(scores)
        return torch.cat(attended)


def _at_once(device: torch.device) -> int:
    return _AT_ONCE * torch.get_num_threads() if device.type == "cpu" else _AT_ONCE_ON_GPU
