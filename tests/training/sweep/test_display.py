"""People see where every run of a sweep stands."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from somamba.training.sweep.display import SweepTable, live_sweep_display, plain_sweep_display
from somamba.training.sweep.run_status import Run
from training.test_display import START, STEPS, VALIDATION
from training.tiny import tiny_recipe

TIMED = START | {"timed": True, "length": 60.0, "place": 0.0, "validate_every": 60.0}


@pytest.fixture
def runs(data, tmp_path):
    recipe = tiny_recipe(data, minutes=1.0)
    return [Run(name=name, recipe=recipe, folder=Path(tmp_path, name), parameters=1) for name in ("unet", "so[b]")]


def state(word, note=""):
    return {"event": "state", "state": word, "note": note}


def test_a_line_has_state_step_loss_best_and_time_left(runs):
    overview = SweepTable(runs)
    assert overview.lines["unet"].cells() == ["unet", "[dim]waiting[/]", "0", "-", "-", "1 min 00 s"]
    for event in (state("training"), TIMED, *STEPS, VALIDATION):
        overview.add("unet", event)
    assert overview.lines["unet"].cells() == ["unet", "[bold]training[/]", "10", "0.12500", "31.50 dB", "47 s"]
    assert overview.seconds_left() == 47 + 60


def test_measuring_counts_batches_and_a_finished_run_needs_no_time(runs):
    overview = SweepTable(runs)
    for event in (state("measuring"), {"event": "measured", "done": 3, "count": 8}):
        overview.add("unet", event)
    assert overview.lines["unet"].cells()[1] == "[bold]measuring 3/8[/]"
    overview.add("unet", state("finished"))
    assert overview.lines["unet"].cells()[1] == "[green]finished[/]"
    assert overview.seconds_left() == 60


def test_without_a_budget_the_time_left_is_not_known(data, tmp_path):
    run = Run(name="a", recipe=tiny_recipe(data), folder=tmp_path / "a", parameters=1)
    assert SweepTable([run]).seconds_left() is None


def test_a_terminal_shows_all_runs(runs):
    screen = io.StringIO()
    with live_sweep_display(runs, Console(file=screen, force_terminal=True, width=120)) as watch:
        for event in (state("training"), TIMED, *STEPS, VALIDATION, state("finished")):
            watch("unet", event)
    last = screen.getvalue().split("run ")[-1]
    for words in ("unet", "finished", "so[b]", "waiting", "31.50 dB", "1 min 00 s of training left"):
        assert words in last


def test_plain_lines_name_the_run(runs):
    lines = []
    watch = plain_sweep_display(runs, lines.append, every=1000.0)
    for event in (state("training"), TIMED, *STEPS, VALIDATION, state("failed", "no room")):
        watch("so[b]", event)
    watch("so[b]", {"event": "measured", "done": 1, "count": 2})
    assert lines[0] == "so[b]  training (run 2 of 2)"
    assert lines[-1] == "so[b]  failed (run 2 of 2): no room"
    assert lines[-2].startswith("so[b]  epoch 1.00  step 10  loss 0.12500")
    assert len(lines) == 5


def test_lines_tell_of_measuring_now_and_then(runs):
    lines = []
    watch = plain_sweep_display(runs, lines.append, every=-1.0)
    watch("unet", {"event": "measured", "done": 4, "count": 10})
    assert lines == ["unet  measured 4 of 10 batches"]
