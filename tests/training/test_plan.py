"""A plan counts steps, and the stream of batches keeps to it from any step on."""

from dataclasses import replace
from itertools import chain, islice

import pytest

from somamba.data.slices import open_slices
from somamba.errors import ConfigError
from somamba.runtime.processes import World
from somamba.training.plan import batches_from, make_plan, spread_cases
from somamba.training.progress import Progress
from training.tiny import tiny_recipe


def validated(plan, steps):
    """The steps after which validation is due, when none is missed."""
    found, last = [], 0
    for step in steps:
        if plan.validation_due(Progress(step=step, validated=last)):
            found.append(step)
            last = step
    return found


def names(step):
    return [pair for batch in step for pair in zip(batch.case_ids, batch.slices, strict=True)]


def test_steps_and_validations_are_counted(data):
    plan = make_plan(tiny_recipe(data, epochs=5, validate_every=2.0), n_slices=14)
    assert (plan.steps_per_epoch, plan.length, plan.validations) == (3, 15, 3)
    assert validated(plan, range(1, 16)) == [6, 12, 15]
    assert [plan.is_over(Progress(step=step)) for step in (0, 14, 15)] == [False, False, True]


def test_validation_can_be_due_within_an_epoch(data):
    plan = make_plan(tiny_recipe(data, epochs=1, validate_every=0.3), n_slices=40)
    assert validated(plan, range(1, 11)) == [3, 6, 9, 10]


def test_a_validation_that_was_missed_is_still_due(data):
    plan = make_plan(tiny_recipe(data, epochs=1, validate_every=0.3), n_slices=40)
    assert plan.validation_due(Progress(step=3, validated=0))
    assert not plan.validation_due(Progress(step=3, validated=3))


def test_a_budget_stretches_epochs_over_its_seconds(data):
    recipe = tiny_recipe(data, epochs=4, minutes=2.0, validate_every=1.5)
    plan = make_plan(recipe, n_slices=40)
    assert (plan.length, plan.validate_every, plan.validations) == (120.0, 45.0, 3)
    peak = recipe.optimiser.learning_rate
    # Warm-up is half an epoch of four: an eighth of two minutes.
    rates = [plan.rate(Progress(step=1000, seconds=seconds)) for seconds in (0.0, 7.5, 15.0, 67.5, 120.0)]
    assert rates == pytest.approx([0.0, peak / 2, peak, peak / 2, 0.0])
    assert [plan.is_over(Progress(step=9, seconds=seconds)) for seconds in (119.9, 120.0)] == [False, True]


def test_under_a_budget_slow_steps_are_validated_as_often_as_fast_ones(data):
    plan = make_plan(tiny_recipe(data, epochs=3, minutes=1.0), n_slices=40)
    for each in (0.25, 1.0, 7.0):
        progress, moments = Progress(), []
        while not plan.is_over(progress):
            progress = replace(progress, step=progress.step + 1, seconds=progress.seconds + each)
            if plan.validation_due(progress):
                moments.append(progress.seconds)
                progress = replace(progress, validated=progress.step, validated_seconds=progress.seconds)
        assert len(moments) == 3
        assert [20 <= moments[0] < 20 + each, 40 <= moments[1] < 40 + each, moments[2] >= 60] == [True] * 3


def test_processes_share_a_batch_and_not_the_schedule(data):
    recipe = tiny_recipe(data, machine={"micro_batch": 3})
    one, two = make_plan(recipe, 12), make_plan(recipe, 12, processes=2)
    assert (one.share, one.micro_batch) == (4, 3)
    assert (two.share, two.micro_batch) == (2, 2)
    assert (one.length, one.schedule, one.evaluation_batch) == (two.length, two.schedule, two.evaluation_batch)


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
