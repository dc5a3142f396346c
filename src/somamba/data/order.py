"""Which process gets which slice at which step. This is computed and never stored.

The same numbers give the same order on every machine.

Streams of raw bits (SHA-256, Philox) are promised not to change with versions; shuffles and distributions are not.
"""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from somamba.errors import ConfigError


def seed_of(*parts: str | int) -> int:
    """A seed of 63 bits that depends on every part and on their order."""
    text = "/".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def epoch_order(n: int, *, seed: int, epoch: int) -> NDArray[np.int64]:
    """A permutation of ``range(n)`` for one epoch; resuming needs no state beyond the epoch and the step.

    Args:
        n: The number of slices.
        seed: The seed of the order.
        epoch: The epoch.
    """
    draws = np.random.Philox(key=seed_of("order", seed, epoch)).random_raw(n)
    return np.argsort(draws, kind="stable").astype(np.int64)


def training_batches(
    order: NDArray[np.int64], batch_size: int, *, rank: int = 0, world: int = 1
) -> Iterator[NDArray[np.int64]]:
    """The batches of one rank. Step s of all ranks together covers the same slices for any number of ranks.

    Args:
        order: From `epoch_order`.
        batch_size: Slices of one rank in one step; ``batch_size * world`` is the global batch.
        rank: Which process this is.
        world: How many there are. A last incomplete global batch is left out: all ranks take equally many steps.
    """
    _check_rank(rank, world)
    if batch_size < 1:
        raise ConfigError(f"batch_size={batch_size}; a batch holds at least 1 slice.")
    everyone = batch_size * world
    for start in range(0, len(order) - everyone + 1, everyone):
        yield order[start + rank * batch_size : start + (rank + 1) * batch_size]


def evaluation_shard(n: int, *, rank: int = 0, world: int = 1) -> Sequence[int]:
    """The slices one rank evaluates: every slice exactly once over all ranks, none twice to fill up.

    Args:
        n: The number of slices.
        rank: The number of this process.
        world: The number of processes.
    """
    _check_rank(rank, world)
    return range(n * rank // world, n * (rank + 1) // world)


def _check_rank(rank: int, world: int) -> None:
    if not 0 <= rank < world:
        raise ConfigError(f"rank={rank} does not exist among {world} processes; ranks are 0 to {world - 1}.")
