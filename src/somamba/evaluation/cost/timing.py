"""Timing of several tasks in turn, best of several, so that all of them see the same machine load."""

import time
from collections.abc import Callable, Mapping


def alternate(
    tasks: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Run the tasks in turn and return the best seconds of each; in turn, because a noisy machine is slow for a while.

    Args:
        tasks: The tasks by name.
        rounds: Number of timed rounds.
        warm: Whether a round that is not timed comes first.
        clock: Seconds as they count; `time.process_time` leaves out what other jobs took, and adds up all threads.
    """
    best = dict.fromkeys(tasks, float("inf"))
    if warm:
        for task in tasks.values():
            task()
    for _ in range(rounds):
        for name, task in tasks.items():
            start = clock()
            task()
            best[name] = min(best[name], clock() - start)
    return best
