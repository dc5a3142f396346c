"""Annealing makes a run of its own from a run that goes on, and leaves that one alone."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from somamba.errors import ConfigError, DataError, InputError
from somamba.inference.weights.checkpoint import read_checkpoint, save_checkpoint
from somamba.results.journal import read_journal
from somamba.training.plan import make_plan
from somamba.training.run.anneal import annealed_folder, begin_annealing
from training.tiny import run, sums, tiny_recipe


@pytest.fixture(scope="module")
def going_on(data, tmp_path_factory):
    """The folder of a run at a constant rate, stopped after three steps, and the options that name its data."""
    folder = tmp_path_factory.mktemp("anneal") / "run"
    optimiser = replace(tiny_recipe(data).optimiser, schedule="constant", ema=0.9)
    recipe = tiny_recipe(data, epochs=50, optimiser=optimiser, machine={"max_minutes": 1e-9})
    for _ in range(3):
        run(recipe, folder, resume=True)
    return folder, [f"--data.path={data.path}", f"--data.cache={data.cache}"]


def files(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_rate_decays_to_zero_and_the_original_is_untouched(going_on, tmp_path):
    folder, options = going_on
    before = files(folder)
    recipe = begin_annealing(folder, tmp_path / "new", 2.0, options)
    outcome = run(recipe, tmp_path / "new", resume=True)
    assert (outcome.reason, outcome.progress.step) == ("finished", 7)
    assert files(folder) == before
    journal = read_journal(tmp_path / "new" / "journal.jsonl")
    rates = {event["step"]: event["rate"] for event in journal if event["event"] == "step"}
    assert list(rates) == [1, 2, 3, 4, 5, 6, 7]
    assert [rates[step] for step in (4, 5, 6, 7)] == pytest.approx([0.01 * (1 - math.sqrt(k / 4)) for k in range(4)])
    best = read_checkpoint(tmp_path / "new" / "best")
    assert best.config["weights"]["kind"] == "moving average"
    assert best.config["annealed_from"]["name"] == "run"
    assert best.config["annealed_from"]["step"] == best.config["recipe"]["anneal"]["step"] == 3


def test_the_best_of_the_original_does_not_keep_the_first_of_the_copy_away(going_on, tmp_path):
    folder, options = going_on
    found = read_checkpoint(folder / "last")
    brilliant = replace(found.training, values={**found.training.values, "best": 99.0})
    save_checkpoint(tmp_path / "run" / "last", replace(found, training=brilliant))
    recipe = begin_annealing(tmp_path / "run", tmp_path / "new", 0.5, options)
    run(recipe, tmp_path / "new", resume=True)
    assert (tmp_path / "new" / "best" / "config.yaml").is_file()


def test_an_annealed_run_that_was_stopped_goes_on_with_the_same_bytes(going_on, tmp_path):
    folder, options = going_on
    for name, limit in (("whole", []), ("parts", ["--machine.max_minutes=1e-9"])):
        run(begin_annealing(folder, tmp_path / name, 2.0, options + limit), tmp_path / name, resume=True)
    assert read_checkpoint(tmp_path / "parts" / "last").config["step"] == 4
    with pytest.raises(InputError, match="--resume goes on"):
        begin_annealing(folder, tmp_path / "parts", 2.0, options)
    with pytest.raises(ConfigError, match="annealed over 3 epochs"):
        begin_annealing(folder, tmp_path / "parts", 3.0, options, resume=True)
    recipe = begin_annealing(folder, tmp_path / "parts", 2.0, options, resume=True)
    run(recipe, tmp_path / "parts", resume=True)
    assert sums(tmp_path / "parts") == sums(tmp_path / "whole")


def test_nothing_but_the_machine_may_differ(going_on, tmp_path):
    folder, options = going_on
    with pytest.raises(ConfigError, match=r"may differ .*optimiser.learning_rate"):
        begin_annealing(folder, tmp_path / "new", 2.0, [*options, "--optimiser.learning_rate=0.1"])
    assert not (tmp_path / "new").exists()


def test_a_dry_run_writes_nothing_and_plans_the_decay_alone(going_on, tmp_path):
    folder, options = going_on
    recipe = begin_annealing(folder, tmp_path / "new", 2.0, options, dry=True)
    plan = make_plan(recipe, 8)
    assert (plan.start, plan.length, plan.validations) == (3, 7, 3)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("epochs", [0.0, -1.0, math.inf, math.nan])
def test_an_impossible_length_is_refused(going_on, tmp_path, epochs):
    with pytest.raises(ConfigError, match="epochs"):
        begin_annealing(going_on[0], tmp_path / "new", epochs, going_on[1])
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_annealed_is_refused(going_on, tmp_path):
    folder, options = going_on
    with pytest.raises(ConfigError, match="must not touch"):
        begin_annealing(folder, folder, 2.0, options)
    with pytest.raises(InputError, match="not a checkpoint"):
        begin_annealing(tmp_path, tmp_path / "new", 2.0, options)
    recipe = begin_annealing(folder, tmp_path / "new", 0.5, options)
    run(recipe, tmp_path / "new", resume=True)
    with pytest.raises(ConfigError, match="annealed already"):
        begin_annealing(tmp_path / "new", tmp_path / "again", 2.0, options)


def test_other_processes_wait_for_the_first_and_take_its_recipe(going_on, tmp_path, monkeypatch):
    folder, options = going_on
    first = begin_annealing(folder, tmp_path / "new", 2.0, options)
    monkeypatch.setenv("RANK", "1")
    assert begin_annealing(folder, tmp_path / "new", 2.0, options) == first


def test_the_copy_lies_beside_the_run():
    assert annealed_folder(Path("runs/x")) == Path("runs/x_annealed")


def test_data_that_are_not_there_leave_no_folder(going_on, tmp_path):
    with pytest.raises(DataError, match="nowhere is not a folder"):
        begin_annealing(going_on[0], tmp_path / "new", 1.0, [f"--data.path={tmp_path / 'nowhere'}"])
    assert not (tmp_path / "new").exists()
