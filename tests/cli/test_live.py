"""somamba curve RUN --live shows what the journal holds, and leaves when the run has stopped."""

import io
import json

import pytest
from PIL import Image
from rich.console import Console

from report.test_loggers import EVENTS
from somamba.cli.live import BARS, curve, state, view
from somamba.cli.main import main


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    Image.new("L", (64, 16), 128).save(folder / "validation.png")
    return folder


def shown(run, events, **options):
    console = Console(file=io.StringIO(), width=100, legacy_windows=False, **options)
    console.print(view(run, events, console))
    return console.file.getvalue()


def test_the_view_of_a_finished_run_is_printed_and_the_command_ends(run, capsys):
    assert main(["curve", str(run), "--live"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "step 2 of 2, stopped: finished" in out
    assert "mean of 50 steps 0.50000" in out
    assert "PSNR 30.00 dB, best 30.00" in out
    assert "2.00e-01" in out
    assert "largest 2" in out


def test_the_slice_is_drawn_where_the_terminal_has_the_colours(run):
    coloured = shown(run, EVENTS, force_terminal=True, color_system="truecolor")
    assert "\x1b[38;2;128;128;128;48;2;128;128;128m▀" in coloured
    assert "▀" not in shown(run, EVENTS)
    assert "validation.png: target, zero-filled, reconstruction, error x 5" in " ".join(shown(run, EVENTS).split())


def test_time_left_counts_steps_and_validations_to_come():
    steps = [{"event": "step", "step": number, "seconds": 2.0} for number in range(1, 11)]
    start = {"event": "start", "step": 0, "length": 100, "validate_every": 50, "steps_per_epoch": 50, "timed": False}
    check = {"event": "validation", "step": 10, "psnr": 30.0, "seconds": 30.0}
    assert state([start, *steps, check]) == "step 10 of 100, epoch 0.20, 4 min 00 s left"
    assert state([]) == "no event yet"


def test_a_curve_goes_from_its_lowest_to_its_highest_value():
    assert curve([0.0, 1.0, 2.0, 7.0], BARS) == "▁▂▃█"
    assert curve([1.0], BARS) == "▁"
    assert len(curve([float(number) for number in range(1000)], BARS)) == 40


def test_several_runs_cannot_be_watched_at_once(run, capsys):
    assert main(["curve", str(run), str(run), "--live"]) == 2
    assert "take one run" in capsys.readouterr().err
