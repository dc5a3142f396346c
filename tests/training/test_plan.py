"""A plan counts steps, and the stream of batches keeps to it from any step on."""

from itertools import chain, islice

import pytest

from somamba.data.slices import open_slices
from somamba.errors import ConfigError
from somamba.training.parallel import World
from somamba.training.plan import batches_from, make_plan, spread_cases
from training.tiny import tiny_recipe


def names(step):
    return [pair for batch in step for pair in zip(batch.case_ids, batch.slices, strict=True)]


def test_steps_and_validations_are_counted(data):
    plan = make_plan(tiny_recipe(data, epochs=5, validate_every=2.0), n_slices=14)
    assert (plan.steps_per_epoch, plan.steps) == (3, 15)
    assert [step for step in range(16) if plan.validates_after(step)] == [6, 12, 15]
    assert [plan.validations(step) for step in (0, 5, 6, 14)] == [3, 3, 2, 1]
    assert plan.epochs(6) == 2.0


def test_validation_can_be_due_within_an_epoch(data):
    plan = make_plan(tiny_recipe(data, epochs=1, validate_every=0.3), n_slices=40)
    assert [step for step in range(11) if plan.validates_after(step)] == [3, 6, 9, 10]


def test_processes_share_a_batch_and_not_the_schedule(data):
    recipe = tiny_recipe(data, machine={"micro_batch": 3})
    one, two = make_plan(recipe, 12), make_plan(recipe, 12, processes=2)
    assert (one.share, one.micro_batch) == (4, 3)
    assert (two.share, two.micro_batch) == (2, 2)
    assert (one.steps, one.schedule, one.evaluation_batch) == (two.steps, two.schedule, two.evaluation_batch)


@pytest.mark.parametrize(("slices", "processes", "complaint"), [(3, 1, "only 3 slices"), (12, 3, "shared evenly")])
def test_impossible_plans_are_refused(data, slices, processes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        make_plan(tiny_recipe(data), slices, processes)


def test_the_stream_from_the_middle_is_the_rest_of_the_stream(data):
    slices, recipe = open_slices(data, "train"), tiny_recipe(data, machine={"micro_batch": 2})
    plan = make_plan(recipe, len(slices))
    whole = [names(step) for step in islice(batches_from(0, slices, recipe, plan, World()), 6)]
    for start in (1, 2, 5):
        rest = islice(batches_from(start, slices, recipe, plan, World()), 6 - start)
        assert [names(step) for step in rest] == whole[start:]
    first, second = (sorted(chain.from_iterable(epoch)) for epoch in (whole[:2], whole[2:4]))
    assert first == second
    assert whole[:2] != whole[2:4]


def test_two_processes_see_what_one_would(data):
    slices, recipe = open_slices(data, "train"), tiny_recipe(data)
    alone = make_plan(recipe, len(slices))
    together = make_plan(recipe, len(slices), processes=2)
    one = [names(step) for step in islice(batches_from(0, slices, recipe, alone, World()), 6)]
    shares = [
        [names(step) for step in islice(batches_from(0, slices, recipe, together, World(rank, 2)), 6)]
        for rank in (0, 1)
    ]
    assert [first + second for first, second in zip(*shares, strict=True)] == one


def test_workers_read_the_same_slices(data):
    slices, recipe = open_slices(data, "train"), tiny_recipe(data)
    ahead = tiny_recipe(data, machine={"workers": 1})
    plan = make_plan(recipe, len(slices))
    pairs = zip(
        islice(batches_from(0, slices, recipe, plan, World()), 2),
        islice(batches_from(0, slices, ahead, plan, World()), 2),
        strict=True,
    )
    for (mine,), (theirs,) in pairs:
        assert mine.y.equal(theirs.y)
        assert mine.target.equal(theirs.target)


def test_a_limit_spreads_over_all_cases(data):
    slices = open_slices(data, "train")
    assert spread_cases(slices, None) is slices
    assert spread_cases(slices, 9) is slices
    assert [case.id for case in spread_cases(slices, 1).cases] == [slices.cases[0].id]
    assert len(spread_cases(slices, 1)) == 4
