"""The learning rate rises over warm-up, falls along a cosine or stays, and decays at the end if asked."""

from dataclasses import replace

import pytest

from somamba.training.schedule import Schedule


def test_warm_up_is_a_line_to_the_peak():
    schedule = Schedule(peak=8e-4, warmup=4, length=20)
    assert [schedule(step) for step in range(4)] == pytest.approx([2e-4, 4e-4, 6e-4, 8e-4])


def test_the_cosine_starts_at_the_peak_is_halfway_in_the_middle_and_ends_at_the_floor():
    schedule = Schedule(peak=1.0, warmup=10, length=110, floor=0.2)
    assert schedule(10) == 1.0
    assert schedule(60) == pytest.approx(0.6)
    assert schedule(110) == pytest.approx(0.2)
    assert schedule(109) > 0.2


def test_the_rate_never_rises_after_warm_up():
    schedule = Schedule(peak=1.0, warmup=5, length=50)
    rates = [schedule(step) for step in range(5, 60)]
    assert rates == sorted(rates, reverse=True)


def test_a_training_without_warm_up_starts_at_the_peak():
    assert Schedule(peak=1.0, warmup=0, length=10)(0) == 1.0


def test_over_a_budget_the_rate_follows_the_seconds():
    schedule = Schedule(peak=1.0, warmup=0.2, length=1.0, stride=0, floor=0.1)
    assert [schedule(seconds) for seconds in (0.0, 0.1, 0.2)] == pytest.approx([0.0, 0.5, 1.0])
    assert schedule(0.6) == pytest.approx(0.55)
    assert [schedule(seconds) for seconds in (1.0, 1.7)] == [0.1, 0.1]


def test_a_constant_rate_stays_for_ever():
    schedule = Schedule(peak=1.0, warmup=4, length=20, shape="constant")
    assert [schedule(step) for step in (0, 3, 4, 19, 20, 10**6)] == [0.25, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_the_decay_is_one_minus_the_root_of_its_share():
    schedule = Schedule(peak=2.0, warmup=0, length=20, shape="constant", decay_from=10, decay_length=100, decay_to=1.0)
    assert schedule(9) == schedule(10) == 2.0
    assert [schedule(place) for place in (11, 35, 74)] == pytest.approx([1.9, 1.5, 1.2])
    assert [schedule(place) for place in (110, 500)] == [1.0, 1.0]


def test_a_decay_begins_at_the_rate_that_the_cosine_has_reached():
    cosine = Schedule(peak=1.0, warmup=0, length=100)
    decayed = replace(cosine, decay_from=50, decay_length=16)
    assert [decayed(place) for place in (0, 20, 49)] == [cosine(place) for place in (0, 20, 49)]
    assert [decayed(place) for place in (50, 54, 66)] == pytest.approx([0.5, 0.25, 0.0])
