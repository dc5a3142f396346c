"""Points of a journal: over steps or minutes, smoothed, without what is no number."""

import pytest

from somamba.report.learning import MINUTES, STEPS, common_axis, points, running_mean, span


def steps(values, seconds=30.0):
    return [{"event": "step", "step": i, "loss": x, "seconds": seconds} for i, x in enumerate(values, start=1)]


def start(**facts):
    return {"event": "start", "step": 0, **facts}


def test_the_loss_is_a_running_mean():
    assert running_mean(points(steps([4.0, 2.0, 3.0]), "step", "loss")) == [(1, 4.0), (2, 3.0), (3, 3.0)]
    long = running_mean(points(steps([float(i) for i in range(100)]), "step", "loss"))
    assert long[-1] == pytest.approx((100, 74.5))  # Mean of 50 ... 99.


def test_steps_without_a_number_are_left_out():
    events = [*steps([1.0, None, float("nan"), "x"]), {"event": "step", "step": 9}, {"step": 3}]
    assert points(events, "step", "loss") == [(1, 1.0)]
    assert points([{"event": "validation", "step": 5, "psnr": 30.5}], "validation", "psnr") == [(5, 30.5)]


def test_minutes_are_those_of_all_steps_so_far():
    events = [*steps([1.0, None, 3.0]), {"event": "validation", "step": 3, "psnr": 30.0}]
    assert points(events, "step", "loss", MINUTES) == [(0.5, 1.0), (1.5, 3.0)]
    assert points(events, "validation", "psnr", MINUTES) == [(1.5, 30.0)]


def test_the_axis_is_minutes_only_where_all_runs_had_them():
    timed, counted = [start(timed=True)], [start(timed=False)]
    assert common_axis([timed, timed]) == MINUTES
    for journals in ([timed, counted], [timed, []], [[start()]], []):
        assert common_axis(journals) == STEPS


def test_the_time_of_a_run_is_told_in_universal_time():
    assert span([{"time": 0.0}, {}, {"time": 3600.0}]) == "1970-01-01 00:00 to 1970-01-01 01:00 UTC"
    assert span([]) == ""
    assert span([{"time": 1e30}]) == ""


@pytest.mark.parametrize("value", [True, 10**400, -(10**31), 1e308, 5e-324, -5e-324, float("inf")])
def test_numbers_that_no_chart_can_place_are_left_out(value):
    assert points(steps([1.0, value]), "step", "loss") == [(1, 1.0)]
    assert points([{"event": "step", "step": value, "loss": 1.0}], "step", "loss") == []
