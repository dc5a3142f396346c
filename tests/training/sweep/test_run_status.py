"""A folder tells where its run stands."""

import shutil
from dataclasses import replace

import pytest

from somamba.errors import ConfigError
from somamba.results.journal import read_journal
from somamba.training.loop import fit
from somamba.training.sweep.run_status import Run, RunStatus, run_status
from training.tiny import small_network, tiny_recipe


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run that is trained and not yet measured."""
    recipe = tiny_recipe(data, network=small_network())
    run = Run(name="x", recipe=recipe, folder=tmp_path_factory.mktemp("status") / "x", parameters=1)
    fit(recipe, run.folder)
    return run


def copied(run, folder):
    shutil.copytree(run.folder, folder)
    return replace(run, folder=folder)


def test_an_absent_run_is_waiting(trained, tmp_path):
    assert run_status(replace(trained, folder=tmp_path / "absent")) == RunStatus()


def test_a_run_without_results_can_go_on(trained, tmp_path):
    found = run_status(copied(trained, tmp_path / "x"))
    journal = read_journal(trained.folder / "journal.jsonl")
    assert (found.state, found.steps) == ("stopped", 4)
    assert found.seconds == sum(event["seconds"] for event in journal if event["event"] == "step")
    assert found.best == max(event["psnr"] for event in journal if event["event"] == "validation")


def test_results_say_that_it_is_finished_also_where_only_the_best_weights_were_kept(trained, tmp_path):
    run = copied(trained, tmp_path / "x")
    run.results.write_text("rows")
    assert run_status(run).state == "finished"
    shutil.rmtree(run.folder / "last")
    assert (run_status(run).state, run_status(run).steps) == ("finished", 4)


def test_results_without_weights_are_no_results(trained, tmp_path):
    run = copied(trained, tmp_path / "x")
    run.results.write_text("rows")
    shutil.rmtree(run.folder / "best")
    assert run_status(run).state == "stopped"


def test_a_run_of_another_recipe_is_refused(trained):
    other = replace(trained, recipe=replace(trained.recipe, seed=5))
    with pytest.raises(ConfigError, match=r"another recipe \(seed: 0 -> 5\)"):
        run_status(other)


def test_the_budget_is_in_seconds(trained):
    assert trained.budget is None
    assert replace(trained, recipe=replace(trained.recipe, minutes=1.5)).budget == 90.0
