"""Journals become curves."""

import pytest

from somamba.report.learning import MOST_POINTS, learning_section, smoothed, span, validations
from somamba.report.sources import TrainedRun


def steps(losses):
    return [{"event": "step", "step": i, "loss": loss} for i, loss in enumerate(losses, start=1)]


def test_the_loss_is_a_running_mean():
    assert smoothed(steps([4.0, 2.0, 3.0])) == [(1, 4.0), (2, 3.0), (3, 3.0)]
    long = smoothed(steps([float(i) for i in range(100)]))
    assert long[-1] == pytest.approx((100, 74.5))  # Mean of 50 ... 99.


def test_a_long_run_is_thinned_and_keeps_its_end():
    found = smoothed(steps([1.0] * 5000))
    assert len(found) <= MOST_POINTS
    assert found[-1] == pytest.approx((5000, 1.0))


def test_steps_without_a_number_are_left_out():
    events = [*steps([1.0, None, float("nan"), "x"]), {"event": "step", "step": 9}, {"step": 3}]
    assert smoothed(events) == [(1, 1.0)]
    assert validations([{"event": "validation", "step": 5, "psnr": 30.5}]) == [(5, 30.5)]


def test_runs_that_took_no_step_give_no_chart():
    run = TrainedRun(name="<b>", events=[], config={}, recipe="")
    assert learning_section([run]) is None
    more = TrainedRun(name="<b>", events=steps([1.0, 2.0]), config={}, recipe="")
    html = learning_section([run, more])
    assert "<b>" not in html
    assert html.count("<svg") == 1


def test_the_time_of_a_run_is_told_in_universal_time():
    assert span([{"time": 0.0}, {}, {"time": 3600.0}]) == "1970-01-01 00:00 to 1970-01-01 01:00 UTC"
    assert span([]) == ""
