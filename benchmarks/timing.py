"""What the benchmarks compare with: the machine's own speed."""

from collections.abc import Callable

import torch


def gemm_task(size: int = 2048, dtype: torch.dtype = torch.float32) -> Callable[[], object]:
    """One square matrix product: the machine's practical speed limit. It takes 2 * size^3 operations."""
    a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
    out = torch.empty(size, size, dtype=dtype)
    return lambda: torch.mm(a, b, out=out)
