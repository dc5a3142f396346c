"""Weights of linear layers as the compiled kernels read them."""

import torch.nn.functional as F
from torch import Tensor

LANES = 16
"""Columns of a panel, of ``source/vec.h``."""
CHUNK = 192
"""The most rows that a worker takes at a time, of ``source/product.h``."""


def packed(weight: Tensor) -> Tensor:
    """A weight ``(width, inner)`` in panels of 16 columns, ``(width / 16, inner, 16)``, zero beyond the width."""
    width, inner = weight.shape
    full = F.pad(weight, (0, 0, 0, -width % LANES))
    return full.view(-1, LANES, inner).transpose(1, 2).contiguous()
