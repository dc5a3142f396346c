"""A training ends with the same bytes, whatever happened on the way."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.errors import ConfigError, InputError, StorageError, TrainingError
from somamba.evaluation.evaluate import evaluate, summary
from somamba.inference.weights.checkpoint import load_weights, read_checkpoint, save_checkpoint, weights_digest
from somamba.inference.weights.trained import epochs_of, open_model
from somamba.models.zoo import MODELS
from somamba.results.journal import read_journal
from somamba.training.loop import fit
from somamba.training.recipe import Optimiser
from somamba.training.stop import StopRequest
from training.tiny import TinyNetwork, run, small_network, sums, tiny_recipe

HELPER = Path(__file__).with_name("forked.py")


@pytest.fixture(scope="module")
def reference(data, tmp_path_factory):
    """A run that nothing interrupted: its recipe, its folder."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    recipe = tiny_recipe(data)
    outcome = run(recipe, folder)
    assert outcome.reason == "finished"
    return recipe, folder


def forked(*arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, HELPER, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_training_learns(data, tmp_path):
    recipe = tiny_recipe(data, epochs=24, validate_every=24.0, machine={"checkpoint_minutes": 10.0})
    torch.manual_seed(0)  # the network draws its own weights here
    run(recipe, tmp_path / "run", model=TinyNetwork(dropout=0.0))
    losses = [event["loss"] for event in read_journal(tmp_path / "run" / "journal.jsonl") if event["event"] == "step"]
    assert sum(losses[-6:]) < 0.8 * sum(losses[:6])


def test_the_same_recipe_gives_the_same_bytes(reference, tmp_path):
    recipe, folder = reference
    run(recipe, tmp_path / "again")
    assert sums(tmp_path / "again") == sums(folder)


def test_another_seed_gives_others(reference, tmp_path):
    recipe, folder = reference
    run(replace(recipe, seed=1), tmp_path / "other")
    assert sums(tmp_path / "other") != sums(folder)


@pytest.mark.parametrize(("way", "points"), [("plain", 24), ("constant", 10), ("start_from", 8), ("anneal", 12)])
def test_killed_at_many_points_every_resume_ends_bit_identical(tmp_path, way, points):
    results = forked("kill", tmp_path, way, points)
    assert len(results) == points
    calls = {"write", "fsync", "rename"} if way == "plain" else {"write"}
    assert calls <= {result["call"] for result in results}
    for result in results:
        assert (result["killed"], result["resumed"], result["same"]) == (-9, 0, True), result
        assert (result["steps"], result["validations"]) == ([1, 2, 3, 4], [2, 4])


def stop_at(step, action):
    def tell(event):
        if event["event"] == "step" and event["step"] == step:
            action()

    return tell


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_step_saves_and_can_be_resumed(reference, tmp_path, number):
    recipe, folder = reference
    handler = signal.getsignal(number)
    outcome = run(recipe, tmp_path / "run", tell=stop_at(1, lambda: signal.raise_signal(number)))
    # The next step carries the request to all processes; the validation due after it is left to the resumed run.
    assert (outcome.reason, outcome.signal) == ("signal", number)
    assert (outcome.progress.step, outcome.progress.validated) == (2, 0)
    assert signal.getsignal(number) is handler
    assert run(recipe, tmp_path / "run", resume=True).reason == "finished"
    assert sums(tmp_path / "run") == sums(folder)


def test_a_full_disk_keeps_the_last_checkpoint_and_can_be_resumed(reference, tmp_path):
    recipe, folder = reference
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(StorageError, match="are free there"):
            run(
                recipe,
                tmp_path / "run",
                tell=stop_at(2, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, limits[1]))),
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read_checkpoint(tmp_path / "run" / "last").training.values["step"] == 1
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["journal.jsonl", "last"]
    run(recipe, tmp_path / "run", resume=True)
    assert sums(tmp_path / "run") == sums(folder)


def test_a_time_limit_stops_with_a_checkpoint(reference, tmp_path):
    recipe, folder = reference
    hurried = replace(recipe, machine=replace(recipe.machine, max_minutes=1e-9))
    assert run(hurried, tmp_path / "run").reason == "time"
    assert run(recipe, tmp_path / "run", resume=True).progress.step == 4
    assert sums(tmp_path / "run") == sums(folder)


def test_a_budget_ends_the_training_and_the_cosine_with_it(data, tmp_path):
    recipe = tiny_recipe(data, minutes=0.005)
    outcome = run(recipe, tmp_path / "run")
    assert (outcome.reason, outcome.progress.validated) == ("finished", outcome.progress.step)
    steps = [event for event in read_journal(tmp_path / "run" / "journal.jsonl") if event["event"] == "step"]
    assert outcome.progress.seconds == sum(event["seconds"] for event in steps)
    assert outcome.progress.seconds - steps[-1]["seconds"] < 0.3 <= outcome.progress.seconds
    assert steps[0]["rate"] == 0
    assert max(event["rate"] for event in steps) <= recipe.optimiser.learning_rate


def test_a_resumed_budget_goes_on_counting(data, tmp_path):
    recipe = tiny_recipe(data, minutes=0.01)
    stopped = run(recipe, tmp_path / "run", tell=stop_at(1, lambda: signal.raise_signal(signal.SIGTERM)))
    assert (stopped.reason, stopped.progress.step) == ("signal", 2)
    assert read_checkpoint(tmp_path / "run" / "last").training.values["seconds"] == stopped.progress.seconds > 0
    outcome = run(recipe, tmp_path / "run", resume=True)
    assert outcome.reason == "finished"
    steps = [event for event in read_journal(tmp_path / "run" / "journal.jsonl") if event["event"] == "step"]
    assert [event["step"] for event in steps] == list(range(1, outcome.progress.step + 1))
    assert outcome.progress.seconds == pytest.approx(sum(event["seconds"] for event in steps), rel=1e-12)
    with pytest.raises(ConfigError, match=r"minutes: 0\.01 -> 5"):
        run(replace(recipe, minutes=5.0), tmp_path / "run", resume=True)


def test_without_a_budget_no_clock_reaches_the_checkpoint(reference):
    _, folder = reference
    assert read_checkpoint(folder / "last").training.values["seconds"] == 0


def test_a_request_to_stop_may_come_from_outside(data, tmp_path):
    with StopRequest() as request:
        signal.raise_signal(signal.SIGTERM)  # Before the training listens.
        outcome = run(tiny_recipe(data), tmp_path / "run", stop=request)
    assert (outcome.reason, outcome.signal, outcome.progress.step) == ("signal", signal.SIGTERM, 1)


def test_a_run_is_not_overwritten_unasked(reference):
    recipe, folder = reference
    before = sums(folder)
    with pytest.raises(InputError, match="--resume"):
        run(recipe, folder)
    assert sums(folder) == before


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_trainer_is_refused_and_the_first_ends_as_if_alone(reference, tmp_path, resume):
    recipe, folder = reference
    before = []

    def intrude():
        before.append({path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()})
        with pytest.raises(InputError, match=f"in use by process {os.getpid()} .*--output"):
            run(recipe, tmp_path / "run", resume=resume)
        before.append({path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()})

    run(recipe, tmp_path / "run", tell=stop_at(3, intrude))
    assert before[0] == before[1] != {}
    assert sums(tmp_path / "run") == sums(folder)


def test_resuming_with_another_recipe_is_refused(reference):
    recipe, folder = reference
    with pytest.raises(ConfigError, match="epochs: 2 -> 3"):
        run(replace(recipe, epochs=3), folder, resume=True)


def constant_recipe(data, **changes):
    optimiser = replace(tiny_recipe(data).optimiser, schedule="constant", ema=0.9)
    return tiny_recipe(data, **({"optimiser": optimiser, "mirror": True, "turn": True} | changes))


def test_a_run_at_a_constant_rate_may_grow_and_ends_as_one_that_was_always_that_long(data, tmp_path):
    run(constant_recipe(data, epochs=4), tmp_path / "long")
    run(constant_recipe(data, epochs=1), tmp_path / "grown")
    for epochs in (3, 4):
        assert run(constant_recipe(data, epochs=epochs), tmp_path / "grown", resume=True).reason == "finished"
    grown, long = sums(tmp_path / "grown"), sums(tmp_path / "long")
    assert grown[:2] == long[:2]
    # The config of the best may name the length that was meant when it was written.
    assert grown[2].splitlines()[0] == long[2].splitlines()[0]
    other = replace(constant_recipe(data).optimiser, ema=0.0)
    with pytest.raises(ConfigError, match=r"optimiser.ema: 0\.9 -> 0"):
        run(constant_recipe(data, optimiser=other), tmp_path / "grown", resume=True)


def test_a_run_of_an_older_version_goes_on(reference, tmp_path):
    """Its recipe lacks the fields that were added since, and its hardware has the key of that time."""
    recipe, folder = reference
    hurried = replace(recipe, machine=replace(recipe.machine, max_minutes=1e-9))
    run(hurried, tmp_path / "run")
    found = read_checkpoint(tmp_path / "run" / "last")
    record, config = dict(found.config["recipe"]), dict(found.config)
    for name in ("mirror", "turn", "anneal"):
        del record[name]
    record["optimiser"] = {k: v for k, v in record["optimiser"].items() if k not in ("schedule", "decay_epochs", "ema")}
    config |= {"recipe": record, "hands": config.pop("hardware")}
    save_checkpoint(tmp_path / "run" / "last", replace(found, config=config))
    assert run(recipe, tmp_path / "run", resume=True).reason == "finished"
    assert sums(tmp_path / "run") == sums(folder)


def test_the_average_is_what_is_validated_and_kept_as_best(data, tmp_path):
    outcome = run(constant_recipe(data, epochs=3), tmp_path / "run")
    last, best = (read_checkpoint(tmp_path / "run" / name) for name in ("last", "best"))
    journal = read_journal(tmp_path / "run" / "journal.jsonl")
    validations = [event for event in journal if event["event"] == "validation"]
    assert all(event["averaged"] for event in validations)
    assert last.config["weights"] == {"kind": "last step"}
    kept = best.config["step"]
    assert best.config["weights"] == {"kind": "moving average", "decay": 0.9, "steps": kept}
    model = TinyNetwork()
    load_weights(model, best.weights, source="best")
    scores = summary(evaluate(model.eval(), open_slices(data, "val"), batch_size=4))
    assert scores["psnr"].mean == outcome.progress.best
    average = {name.removeprefix("average/"): t for name, t in last.training.tensors.items() if "average/" in name}
    assert average.keys() == dict(model.named_parameters()).keys()
    assert any(not average[name].equal(last.weights[name]) for name in average)
    if kept == outcome.progress.step:
        assert all(average[name].equal(best.weights[name]) for name in average)


def test_the_average_of_weights_that_never_move_is_the_weights(data, tmp_path):
    still = Optimiser(learning_rate=1e-30, warmup_epochs=0.5, ema=0.99, weight_decay=0.0)
    run(tiny_recipe(data, optimiser=still), tmp_path / "run")
    last, best = (read_checkpoint(tmp_path / "run" / name) for name in ("last", "best"))
    for name, _ in TinyNetwork().named_parameters():
        assert torch.allclose(best.weights[name], last.weights[name], rtol=0, atol=1e-20)


def test_a_skipped_step_does_not_enter_the_average(data, tmp_path):
    outcome = run(constant_recipe(data), tmp_path / "run", model=Poisoned(bad={2, 3}))
    assert (outcome.progress.taken, outcome.progress.step) == (2, 4)
    average = read_checkpoint(tmp_path / "run" / "last").training.tensors
    assert all(value.isfinite().all() for value in average.values())


def test_a_run_starts_from_the_weights_of_another_and_says_so(reference, data, tmp_path):
    _, folder = reference
    origin = read_checkpoint(folder / "best")
    slow = replace(tiny_recipe(data).optimiser, learning_rate=1e-30, weight_decay=0.0)
    recipe = tiny_recipe(data, seed=9, optimiser=slow)
    run(recipe, tmp_path / "run", origin=folder / "best")
    found = read_checkpoint(tmp_path / "run" / "last")
    parameters = [name for name, _ in TinyNetwork().named_parameters()]
    assert all(torch.allclose(found.weights[n], origin.weights[n], rtol=0, atol=1e-20) for n in parameters)
    about = found.config["started_from"]
    assert (about["name"], about["step"]) == ("run/best", origin.config["step"])
    assert about["digest"] == weights_digest(origin.weights)
    assert about["epochs"] == epochs_of(origin.config, source="") > 0
    own = found.config["step"] / found.config["steps_per_epoch"]
    assert epochs_of(found.config, source="") == about["epochs"] + own
    assert read_checkpoint(tmp_path / "run" / "best").config["started_from"] == about


def test_resuming_a_started_run_needs_no_origin_and_refuses_another(reference, data, tmp_path):
    _, folder = reference
    recipe = tiny_recipe(data, seed=9)
    hurried = replace(recipe, machine=replace(recipe.machine, max_minutes=1e-9))
    run(hurried, tmp_path / "run", origin=folder / "best")
    run(recipe, tmp_path / "whole", origin=folder / "best")
    with pytest.raises(ConfigError, match="did not start from the weights"):
        run(recipe, tmp_path / "run", resume=True, origin=tmp_path / "whole" / "best")
    assert run(recipe, tmp_path / "run", resume=True).reason == "finished"
    assert sums(tmp_path / "run") == sums(tmp_path / "whole")


def test_weights_of_another_network_are_refused(reference, data, tmp_path):
    _, folder = reference
    recipe = tiny_recipe(data, network=small_network())
    with pytest.raises(InputError, match="does not fit the model"):
        fit(recipe, tmp_path / "run", origin=folder / "best")
    assert not (tmp_path / "run").exists()


def test_other_threads_than_before_are_worth_a_warning(reference, tmp_path, caplog):
    recipe, folder = reference
    shutil.copytree(folder, tmp_path / "run")
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        run(recipe, tmp_path / "run", resume=True)
    finally:
        torch.set_num_threads(threads)
    assert "not to the last bit" in caplog.text


def test_resuming_a_finished_run_changes_nothing(reference):
    recipe, folder = reference
    before = sums(folder)
    assert run(recipe, folder, resume=True).reason == "finished"
    assert sums(folder) == before


def test_accumulation_does_not_change_the_step(data, tmp_path):
    curves = []
    for size in (4, 3, 1):
        # Without the norm over a batch: its statistics are those of the micro-batch.
        torch.manual_seed(0)
        model = TinyNetwork(dropout=0.0)
        model.block[2] = torch.nn.Identity()
        recipe = tiny_recipe(data, machine={"micro_batch": size})
        run(recipe, tmp_path / str(size), model=model)
        journal = read_journal(tmp_path / str(size) / "journal.jsonl")
        curves.append([event["loss"] for event in journal if event["event"] == "step"])
    assert curves[1] == pytest.approx(curves[0], rel=1e-5)
    assert curves[2] == pytest.approx(curves[0], rel=1e-5)


def test_best_is_the_best_validation(data, tmp_path):
    recipe = tiny_recipe(data, epochs=4, optimiser=replace(tiny_recipe(data).optimiser, learning_rate=0.3))
    outcome = run(recipe, tmp_path / "run")
    journal = read_journal(tmp_path / "run" / "journal.jsonl")
    scores = {event["step"]: event["psnr"] for event in journal if event["event"] == "validation"}
    assert list(scores) == [2, 4, 6, 8]
    assert outcome.progress.best == max(scores.values())
    best = read_checkpoint(tmp_path / "run" / "best")
    assert scores[best.config["step"]] == max(scores.values())
    model = TinyNetwork()
    load_weights(model, best.weights, source="best")
    found = summary(evaluate(model.eval(), open_slices(data, "val"), batch_size=4))
    assert found["psnr"].mean == max(scores.values())


def test_a_checkpoint_says_how_it_was_made(reference):
    _, folder = reference
    for name in ("last", "best"):
        config = read_checkpoint(folder / name).config
        assert (config["protocol"], config["mask"]["kind"], len(config["mask"]["digest"])) == (
            "magnitude",
            "golden-radial",
            16,
        )
        assert config["recipe"]["optimiser"]["learning_rate"] == 0.01
        assert {"commit", "torch", "somamba"} <= config["code"].keys()
        assert config["validation"]["psnr"] > 0


class Poisoned(TinyNetwork):
    """Gives NaN in some training steps."""

    def __init__(self, bad):
        super().__init__(dropout=0.0)
        self.bad, self.calls = bad, 0

    def forward(self, y, A):
        """Reconstruct, or not."""
        image = super().forward(y, A)
        if not self.training:
            return image
        self.calls += 1
        return image * (float("nan") if self.calls in self.bad else 1.0)


def test_a_step_that_is_not_finite_is_skipped_and_counted(data, tmp_path):
    model = Poisoned(bad={2, 3})
    outcome = run(tiny_recipe(data), tmp_path / "run", model=model)
    assert outcome.progress.skipped == 2
    assert all(p.isfinite().all() for p in model.parameters())
    journal = [event for event in read_journal(tmp_path / "run" / "journal.jsonl") if event["event"] == "step"]
    assert [event["loss"] is None for event in journal] == [False, True, True, False]


def test_too_many_steps_in_a_row_that_are_not_finite_end_the_training(data, tmp_path):
    recipe = tiny_recipe(data, optimiser=replace(tiny_recipe(data).optimiser, max_skips=2))
    with pytest.raises(TrainingError, match="2 steps in a row, up to step 3"):
        run(recipe, tmp_path / "run", model=Poisoned(bad={2, 3}))
    assert read_checkpoint(tmp_path / "run" / "last").training.values["step"] == 2


def test_bfloat16_trains_close_to_float32(data, tmp_path):
    first = {}
    for bf16 in (False, True):
        torch.manual_seed(0)
        run(tiny_recipe(data, bf16=bf16), tmp_path / str(bf16), model=TinyNetwork(dropout=0.0))
        journal = read_journal(tmp_path / str(bf16) / "journal.jsonl")
        first[bf16] = next(event["loss"] for event in journal if event["event"] == "step")
    assert first[True] != first[False]
    assert first[True] == pytest.approx(first[False], rel=0.02)


def test_two_processes_give_the_rows_and_the_losses_of_one(tmp_path):
    found = forked("gloo", tmp_path)
    assert found["losses"]["2"] == pytest.approx(found["losses"]["1"], rel=1e-5)
    assert len(found["losses"]["1"]) == 4
    assert found["scores"]["2-0"] == found["scores"]["1-0"]
    assert found["scores"]["2-1"] == found["scores"]["1-0"]
    # Under a budget both go by one clock, or one of them would wait for the other for ever.
    assert found["ended"]["2-0"] == found["ended"]["2-1"]
    assert found["ended"]["2-0"][1] >= 0.18


def test_a_model_without_weights_cannot_be_trained(data, tmp_path):
    recipe = tiny_recipe(data)
    empty = replace(recipe, model="zero_filled", network=MODELS["zero_filled"].config)
    with pytest.raises(ConfigError, match="nothing to learn"):
        fit(empty, tmp_path / "run")


def raw_multicoil(folder):
    write_phantom("m4raw", folder / "m4raw", cases={"train": 1, "val": 1}, slices=4, shape=(16, 16))
    return DataConfig(
        dataset="m4raw", path=str(folder / "m4raw"), cache=str(folder / "cache"), protocol="raw", masks="fixed"
    )


@pytest.mark.parametrize("setting", ["plain", "bf16", "recompute", "multicoil"])
def test_so_mamba_itself_trains_and_is_opened_again(data, tmp_path, setting):
    recipe = tiny_recipe(data, network=small_network(), epochs=1, bf16=setting == "bf16")
    if setting == "recompute":
        recipe = replace(recipe, network=replace(recipe.network, recompute=True))
    if setting == "multicoil":
        recipe = replace(recipe, data=raw_multicoil(tmp_path), network=replace(recipe.network, coils=4))
    outcome = fit(recipe, tmp_path / "run")
    assert (outcome.reason, outcome.progress.skipped) == ("finished", 0)
    trained = open_model(str(tmp_path / "run" / "best"))
    assert trained.model.config == recipe.network
    scores = summary(evaluate(trained.model, open_slices(recipe.data, "val"), batch_size=4))
    assert scores["psnr"].mean == outcome.progress.best


def test_recomputation_changes_memory_and_not_the_result(data, tmp_path):
    losses = []
    for recompute in (False, True):
        network = replace(small_network(), recompute=recompute)
        fit(tiny_recipe(data, network=network, epochs=1), tmp_path / str(recompute))
        journal = read_journal(tmp_path / str(recompute) / "journal.jsonl")
        losses.append([event["loss"] for event in journal if event["event"] == "step"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_without_validation_the_last_weights_stand_for_the_best(data, tmp_path):
    recipe = tiny_recipe(data)
    recipe = replace(recipe, data=replace(recipe.data, validation="none"))
    assert fit(recipe, tmp_path / "run").reason == "finished"
    best, last = (read_checkpoint(tmp_path / "run" / name) for name in ("best", "last"))
    assert best.config["step"] == last.config["step"]
    assert all(torch.equal(best.weights[name], value) for name, value in last.weights.items())
    assert not [event for event in read_journal(tmp_path / "run" / "journal.jsonl") if event["event"] == "validation"]
