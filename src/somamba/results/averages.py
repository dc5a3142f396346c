"""Averages over cases, the paper's rule: the slices of a case are averaged first, then the cases. No torch.

A case with many slices therefore counts as much as one with few.
"""

import statistics
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


class Spread(NamedTuple):
    """Mean and standard deviation over cases."""

    mean: float
    std: float


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation of one value for each case (of the population, numpy's default)."""
    return Spread(statistics.fmean(values), statistics.pstdev(values))


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of every key; keys and items stay in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def repeated(names: Sequence[Key]) -> list[Key]:
    """The names that come more than once, each listed once, in their order."""
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]
