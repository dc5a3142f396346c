"""A sweep trains and measures every run once, whatever happened in between."""

import signal

import pytest

from somamba.data.slices import open_slices
from somamba.errors import ConfigError, DataError
from somamba.evaluation.evaluate import evaluate, summary
from somamba.inference.weights.checkpoint import read_checkpoint
from somamba.inference.weights.trained import open_model
from somamba.results.journal import read_journal
from somamba.results.record import read_records
from somamba.results.scores import ScoreRecord, spread
from somamba.training.sweep import sweep as module
from somamba.training.sweep.run_status import run_status
from somamba.training.sweep.sweep import prepare_runs, sweep
from training.small_grid import RUNS, small_grid


class Diary:
    """Notes every event; acts once, at the first one that is asked for."""

    def __init__(self, when=None, act=None):
        self.events, self.when, self.act = [], when, act

    def __call__(self, name, event):
        """Hear."""
        self.events.append((name, event))
        if self.when is not None and self.when(name, event):
            self.when = None
            self.act()

    def states(self):
        """What was said of the sweep itself."""
        return [(name, event["state"]) for name, event in self.events if event["event"] == "state"]


def stopping(kind, number=signal.SIGTERM):
    return Diary(lambda _name, event: event["event"] == kind, lambda: signal.raise_signal(number))


@pytest.fixture(scope="module")
def swept(data, tmp_path_factory):
    """A sweep that nothing interrupted: its runs, and what was heard of it."""
    folder = tmp_path_factory.mktemp("swept")
    runs, diary = prepare_runs(small_grid(folder, data), folder / "out"), Diary()
    assert sweep(runs, watch=diary).reason == "finished"
    return runs, diary


def weights(run):
    return (run.folder / "best" / "SHA256SUMS").read_text()


def test_every_run_is_trained_and_measured_in_turn(swept):
    runs, diary = swept
    assert diary.states() == [(r["name"], s) for r in RUNS for s in ("training", "measuring", "finished")]
    assert [run_status(run).state for run in runs] == ["finished", "finished"]
    assert [event["step"] for name, event in diary.events if (name, event["event"]) == ("full", "step")] == [1, 2, 3, 4]


def test_the_rows_are_those_of_the_best_weights_on_all_validation_cases(swept):
    for run in swept[0]:
        rows = read_records(ScoreRecord, run.results)
        trained = open_model(str(run.folder / "best"))
        found = summary(evaluate(trained.model, open_slices(run.recipe.data, "val")))
        assert {(row.subject.method, row.setting.split, row.subject.seed) for row in rows} == {
            (run.recipe.model, "val", run.recipe.seed)
        }
        assert spread([row.psnr for row in rows]).mean == found["psnr"].mean
        assert rows[0].command == (
            f"somamba evaluate {run.folder.parent.name}/{run.name}/best --dataset acdc --data $DATA --split val "
            "--protocol magnitude --acceleration 4"
        )


def test_what_is_finished_is_skipped(swept):
    runs, _ = swept
    before, diary = [weights(run) for run in runs], Diary()
    assert sweep(runs, watch=diary).reason == "finished"
    assert diary.events == []
    assert [weights(run) for run in runs] == before


@pytest.mark.parametrize("kind", ["start", "validation", "measured"])
def test_a_signal_stops_the_sweep_and_the_next_one_goes_on(swept, data, tmp_path, kind):
    runs = prepare_runs(small_grid(tmp_path, data), tmp_path / "out")
    handler = signal.getsignal(signal.SIGTERM)
    diary = stopping(kind)
    ending = sweep(runs, watch=diary)
    assert (ending.reason, ending.signal) == ("signal", signal.SIGTERM)
    assert diary.states()[-1] == ("full", "stopped")
    assert [run_status(run).state for run in runs] == ["stopped", "waiting"]
    assert signal.getsignal(signal.SIGTERM) is handler
    assert sweep(runs).reason == "finished"
    # Without a budget an interrupted sweep ends with the same bytes, as every training does.
    assert [weights(run) for run in runs] == [weights(run) for run in swept[0]]


def test_a_failed_run_is_reported_and_the_others_go_on(data, tmp_path, monkeypatch):
    runs = prepare_runs(small_grid(tmp_path, data), tmp_path / "out")
    fit = module.fit

    def poisoned(recipe, *arguments, **options):
        if recipe.model == "so_mamba":
            raise MemoryError("no room for so_mamba")
        return fit(recipe, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, "fit", poisoned)
        diary = Diary()
        ending = sweep(runs, watch=diary)
    assert (ending.reason, list(ending.failures)) == ("finished", ["full"])
    assert "MemoryError: no room for so_mamba" in ending.failures["full"]
    assert "Traceback" in (runs[0].folder / "error.txt").read_text()
    assert ("full", "failed") in diary.states()
    assert run_status(runs[1]).state == "finished"
    assert sweep(runs).failures == {}
    assert not (runs[0].folder / "error.txt").exists()


def test_what_dies_of_the_signal_did_not_fail(data, tmp_path, monkeypatch):
    runs = prepare_runs(small_grid(tmp_path, data), tmp_path / "out")

    def reader_killed(*_arguments, **_options):
        signal.raise_signal(signal.SIGINT)
        raise DataError("reading it crashed the reading process (SIGINT)")

    monkeypatch.setattr(module, "fit", reader_killed)
    diary = Diary()
    ending = sweep(runs, watch=diary)
    assert (ending.reason, ending.signal, ending.failures) == ("signal", signal.SIGINT, {})
    assert diary.states()[-1] == ("full", "stopped")


def test_our_own_errors_are_told_in_their_own_words(data, tmp_path):
    wrong = ["--optimiser.max_skips=1", "--optimiser.learning_rate=1e30"]
    runs = prepare_runs(small_grid(tmp_path, data, *wrong), tmp_path / "out")
    ending = sweep(runs)
    assert list(ending.failures) == ["full", "closed"]
    assert "try a lower optimiser.learning_rate" in ending.failures["full"]
    assert not (runs[0].folder / "error.txt").exists()


def test_a_time_limit_bounds_the_session(data, tmp_path):
    runs = prepare_runs(small_grid(tmp_path, data, "--machine.max_minutes=1e-9"), tmp_path / "out")
    ending = sweep(runs)
    assert (ending.reason, ending.signal) == ("time", None)
    assert not runs[1].folder.exists()


def test_every_run_gets_the_same_budget(data, tmp_path):
    runs = prepare_runs(small_grid(tmp_path, data, minutes=0.004), tmp_path / "out")
    assert sweep(runs).reason == "finished"
    for run in runs:
        seconds = read_checkpoint(run.folder / "last").training.values["seconds"]
        last = [event for event in read_journal(run.folder / "journal.jsonl") if event["event"] == "step"][-1]
        assert seconds - last["seconds"] < 0.24 <= seconds


def test_what_would_fail_later_is_refused_before_anything_starts(data, tmp_path):
    absent = small_grid(tmp_path, data, "--data.path=nowhere")
    empty = small_grid(tmp_path, data, network={}, runs=[*RUNS, {"name": "none", "model": "zero_filled"}])
    for grid, complaint in ((absent, "run 'full': .*nowhere"), (empty, "run 'none': .*nothing to learn")):
        with pytest.raises(ConfigError, match=complaint):
            prepare_runs(grid, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_recipe_is_refused_before_anything_starts(swept, data, tmp_path):
    folder = swept[0][0].folder.parent
    with pytest.raises(ConfigError, match=r"run 'full': .*another recipe \(epochs: 2 -> 3\)"):
        prepare_runs(small_grid(tmp_path, data, "--epochs=3"), folder)
