"""How the benchmarks measure: alternating, best of several, as ratios within one run."""

import time
from collections.abc import Callable, Mapping

import torch


def alternate(tasks: Mapping[str, Callable[[], object]], rounds: int, *, warm: bool = True) -> dict[str, float]:
    """Run the tasks in turn, ``rounds`` times after one round to ``warm`` up; return the best seconds of each.

    In turn, because a noisy machine is slow for a while: what is compared must have met the same weather.
    """
    best = dict.fromkeys(tasks, float("inf"))
    if warm:
        for task in tasks.values():
            task()
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def gemm_task(size: int = 2048, dtype: torch.dtype = torch.float32) -> Callable[[], object]:
    """One square matrix product: the machine's practical speed limit. It takes 2 * size^3 operations."""
    a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
    out = torch.empty(size, size, dtype=dtype)
    return lambda: torch.mm(a, b, out=out)
