"""Journals become curves."""

from somamba.report.colours import Palette
from somamba.report.sections.curves import MOST_POINTS, curves_section, thinned
from somamba.report.sources import TrainedRun

NONE = Palette(())


def steps(losses):
    return [{"event": "step", "step": i, "loss": loss} for i, loss in enumerate(losses, start=1)]


def test_a_long_run_is_thinned_and_keeps_its_end():
    found = thinned([(float(i), 1.0) for i in range(5001)])
    assert len(found) <= MOST_POINTS
    assert found[-1] == (5000.0, 1.0)


def test_runs_under_a_budget_of_minutes_are_drawn_over_minutes():
    events = [{"event": "start", "step": 0, "timed": True}, {"event": "step", "step": 1, "loss": 1.0, "seconds": 90}]
    run = TrainedRun(name="mine", events=events, config={}, recipe="")
    assert "training loss over minutes of training: mine ends at 1 (minutes of training 1.5)" in curves_section(
        [run], NONE
    )


def test_runs_that_took_no_step_give_no_chart():
    run = TrainedRun(name="<b>", events=[], config={}, recipe="")
    assert curves_section([run], NONE) is None
    more = TrainedRun(name="<b>", events=steps([1.0, 2.0]), config={}, recipe="")
    html = curves_section([run, more], NONE)
    assert "<b>" not in html
    assert html.count("<svg") == 1


def test_losses_that_a_logarithmic_axis_cannot_show_give_no_chart():
    run = TrainedRun(name="x", events=steps([0.0, -1.0]), config={}, recipe="")
    assert curves_section([run], NONE) is None
