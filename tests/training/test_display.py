"""People see where a run stands, how fast it is and how long it will take."""

import io

import pytest
from rich.console import Console

from somamba.training.display import RunProgress, duration, live_display, plain_display

START = {"event": "start", "step": 0, "best": None, "timed": False, "length": 20, "place": 0, "validate_every": 10}
START |= {"steps_per_epoch": 10, "batch_size": 4}
STEPS = [{"event": "step", "step": n, "loss_mean": 0.125, "seconds": 2.0} for n in range(1, 11)]
VALIDATION = {"event": "validation", "step": 10, "psnr": 31.5, "improved": True, "seconds": 7.0}


def test_the_line_has_epoch_loss_psnr_speed_and_time_left():
    pace = RunProgress()
    for event in (START, *STEPS, VALIDATION):
        pace.add(event)
    assert pace.line() == (
        "epoch 1.00/2  step 10/20  loss 0.12500  PSNR 31.50 dB  best 31.50  2.00 slices/s  27 s left"
    )


def test_under_a_budget_the_time_left_is_what_is_left_of_it():
    pace = RunProgress()
    for event in (START | {"timed": True, "length": 60.0, "place": 12.0, "validate_every": 20.0}, *STEPS, VALIDATION):
        pace.add(event)
    assert pace.line() == ("epoch 1.00  step 10  loss 0.12500  PSNR 31.50 dB  best 31.50  2.00 slices/s  42 s left")
    pace.add({"event": "step", "step": 11, "loss_mean": None, "seconds": 100.0})
    assert pace.seconds_left() == 0.0


def test_the_pace_is_that_of_this_session():
    pace = RunProgress()
    pace.add(START | {"step": 18, "best": 33.0})
    assert "best 33.00" in pace.line()
    pace.add({"event": "step", "step": 19, "loss_mean": None, "seconds": 5.0})
    assert pace.seconds_left() == 5.0


def test_a_worse_validation_keeps_the_best():
    pace = RunProgress()
    for event in (START, STEPS[0], VALIDATION, VALIDATION | {"psnr": 30.0, "improved": False}):
        pace.add(event)
    assert "PSNR 30.00 dB  best 31.50" in pace.line()


def test_plain_lines_are_few():
    lines = []
    hear = plain_display(lines.append, every=1000.0)
    for event in (START, *STEPS, VALIDATION, {"event": "stop", "step": 10, "reason": "time"}):
        hear(event)
    assert len(lines) == 4
    assert lines[-1].endswith("time")


def test_a_terminal_keeps_validations_above_the_bar():
    screen = io.StringIO()
    with live_display(Console(file=screen, force_terminal=True, width=160)) as hear:
        for event in (START, *STEPS, VALIDATION):
            hear(event)
    assert "PSNR 31.50 dB" in screen.getvalue()
    assert "50%" in screen.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.4, "3 s"), (200.0, "3 min 20 s"), (59.6, "1 min 00 s"), (7500.0, "2 h 05 min")]
)
def test_durations_are_said_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_preparing_cases_is_told_if_it_takes_long_and_not_otherwise():
    event = {"event": "prepare", "step": 0, "cases": "training", "done": 3, "count": 80}
    for every, told in ((0.0, ["preparing training cases 3/80"]), (30.0, [])):
        lines = []
        plain_display(lines.append, every=every)(event)
        assert lines == told
