"""The order of slices is a function of seed and epoch, shared exactly between processes."""

import numpy as np
import pytest

from somamba.data.order import epoch_order, evaluation_shard, seed_of, training_batches
from somamba.errors import ConfigError


def test_an_epoch_visits_every_slice_once():
    assert sorted(epoch_order(101, seed=1, epoch=2)) == list(range(101))


def test_the_order_is_that_of_every_other_machine():
    # Written down once; a change would break resuming a training that began before it.
    assert epoch_order(10, seed=0, epoch=0).tolist() == [4, 7, 8, 0, 5, 3, 6, 2, 1, 9]


def test_epochs_and_seeds_differ():
    orders = [epoch_order(50, seed=seed, epoch=epoch).tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4


@pytest.mark.parametrize("world", [1, 2, 3])
def test_all_ranks_together_take_the_steps_of_one(world):
    order = epoch_order(50, seed=0, epoch=0)
    alone = list(training_batches(order, 6))
    ranks = [list(training_batches(order, 6 // world, rank=rank, world=world)) for rank in range(world)]
    together = [np.concatenate(parts) for parts in zip(*ranks, strict=True)]
    np.testing.assert_array_equal(together, alone)
    assert len(alone) == 8


@pytest.mark.parametrize(("n", "world"), [(10, 3), (2, 4), (7, 1), (8, 2)])
def test_evaluation_covers_every_slice_exactly_once(n, world):
    shards = [list(evaluation_shard(n, rank=rank, world=world)) for rank in range(world)]
    assert [index for shard in shards for index in shard] == list(range(n))


def test_ranks_that_do_not_exist_are_refused():
    with pytest.raises(ConfigError, match="rank=2 does not exist among 2"):
        evaluation_shard(5, rank=2, world=2)
    with pytest.raises(ConfigError, match="batch_size=0"):
        next(training_batches(epoch_order(5, seed=0, epoch=0), 0))


def test_seeds_depend_on_every_part_and_its_place():
    assert (
        len({seed_of("a", 1, 2), seed_of("a", 2, 1), seed_of("b", 1, 2), seed_of("a", 12), seed_of("a", "1", 2)}) == 5
    )
    assert 0 <= seed_of("a") < 2**63
