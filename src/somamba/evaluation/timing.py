"""Timing of several tasks in turn, best of several, so that all of them see the same machine load."""

import time
from collections.abc import Callable, Mapping


def alternate(tasks: Mapping[str, Callable[[], object]], rounds: int, *, warm: bool = True) -> dict[str, float]:
    """Run the tasks in turn, ``rounds`` times after one round to ``warm`` up; return the best seconds of each.

    They run in turn because a noisy machine is slow for a while.
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
