"""``somamba sweep`` from the outside: two small SO-Mambas on synthetic files."""

import csv
import signal

import pytest

from cli.signals import terminated_once_it_runs
from somamba.cli.main import run_command
from somamba.errors import ConfigError, UnknownNameError
from somamba.results.journal import read_journal
from training.small_grid import RUNS, write_grid
from training.tiny import write_data


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data and a grid, and the arguments that name both."""
    folder = tmp_path_factory.mktemp("sweep")
    data = write_data(folder)
    return folder, [str(write_grid(folder)), f"--data.path={data.path}", "--data.cache", data.cache]


@pytest.fixture(scope="module")
def finished(place):
    """The folder of a finished sweep."""
    folder, arguments = place
    run_command("sweep", [*arguments, "--output", str(folder / "out")])
    return folder / "out"


def test_a_sweep_ends_in_a_summary_and_a_table(finished, capsys):
    with (finished / "grid.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [(line["run"], line["model"], line["seed"], line["steps"], line["minutes"]) for line in lines] == [
        ("full", "so_mamba", "0", "4", "0.0"),
        ("closed", "without_access", "1", "4", "0.0"),
    ]
    assert lines[0]["command"].endswith("/grid.yaml --data.path $DATA")
    run_command("table", [str(finished / name / "val.csv") for name in ("full", "closed")])
    assert "SO-Mamba" in capsys.readouterr().out


def test_started_again_it_only_says_that_all_is_done(place, finished, capsys):
    run_command("sweep", [*place[1], "--output", str(finished)])
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"2 of 2 runs are finished: {finished}."
    assert "(run 1 of 2)" not in out


def test_plain_lines_tell_the_progress(place, tmp_path, capsys):
    run_command("sweep", [*place[1], "--output", str(tmp_path / "out"), "--only", "closed", "--minutes=0.002"])
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "closed  training (run 1 of 1)"
    assert "closed  measuring" in out
    assert "1 of 1 runs are finished" in out
    assert not (tmp_path / "out" / "full").exists()
    # The budget was an option, so the command that repeats the line names it; where files lie it does not.
    with (tmp_path / "out" / "grid.csv").open() as file:
        assert next(csv.DictReader(file))["command"].endswith("grid.yaml --data.path $DATA --minutes=0.002")


def test_a_dry_run_checks_tells_and_leaves_nothing(place, finished, tmp_path, capsys):
    run_command("sweep", [*place[1], "--output", str(tmp_path / "dry"), "--dry-run", "--minutes=90"])
    text = capsys.readouterr().out
    for words in ("full", "without_access", "waiting", "1 h 30 min", "3 h 00 min of training left"):
        assert words in text
    assert not (tmp_path / "dry").exists()
    run_command("sweep", [*place[1], "--output", str(finished), "--dry-run"])
    text = capsys.readouterr().out
    for words in ("finished", "4 steps", "2 epochs"):
        assert words in text


def test_sigterm_leaves_with_143_and_the_same_command_goes_on(place, tmp_path, capsys):
    journal = tmp_path / "out" / "full" / "journal.jsonl"
    arguments = [*place[1], "--output", str(tmp_path / "out"), "--minutes=0.05"]
    with terminated_once_it_runs(journal), pytest.raises(SystemExit) as leave:
        run_command("sweep", arguments)
    assert leave.value.code == 128 + signal.SIGTERM
    assert "0 of 2 runs are finished" in capsys.readouterr().out
    reached = max(event["step"] for event in read_journal(journal))
    run_command("sweep", arguments)
    assert "2 of 2 runs are finished" in capsys.readouterr().out
    steps = [event["step"] for event in read_journal(journal) if event["event"] == "step"]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) >= reached


def test_a_failure_is_named_and_leaves_with_2(place, tmp_path, capsys):
    wrong = ["--optimiser.learning_rate=1e30", "--optimiser.max_skips=1"]
    with pytest.raises(SystemExit) as leave:
        run_command("sweep", [*place[1], *wrong, "--output", str(tmp_path / "out")])
    assert leave.value.code == 2
    caught = capsys.readouterr()
    assert all(f"run {run['name']!r} failed: The gradient of" in caught.err for run in RUNS)
    assert "0 of 2 runs are finished" in caught.out


def test_a_time_limit_leaves_with_a_code_that_says_try_again(place, tmp_path):
    with pytest.raises(SystemExit) as leave:
        run_command("sweep", [*place[1], "--output", str(tmp_path / "out"), "--machine.max_minutes=1e-9"])
    assert leave.value.code == 75


def test_wrong_words_are_refused(place, monkeypatch):
    with pytest.raises(ConfigError, match="file comes first: somamba sweep GRID"):
        run_command("sweep", ["--dry-run"])
    with pytest.raises(UnknownNameError, match=r"No run is named 'ful'\. Did you mean 'full'"):
        run_command("sweep", [*place[1], "--only", "ful"])
    with pytest.raises(ConfigError, match="epochss"):
        run_command("sweep", [*place[1], "--epochss=3"])
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="one process"):
        run_command("sweep", place[1])
