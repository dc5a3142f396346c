"""Steps run ahead of a device that works through a queue, and end where steps that are waited for end."""

from dataclasses import replace
from itertools import count

import pytest
import torch

from promises import Looks
from somamba.data.batch import Batch
from somamba.models.so_mamba import unit
from somamba.models.so_mamba.model import SOMamba
from somamba.physics import conjugate_gradients, consistency
from somamba.physics import encoding as encoding_module
from somamba.physics.conjugate_gradients import CHECK_EVERY
from somamba.physics.encoding import encoding
from somamba.results.journal import read_journal
from somamba.runtime.processes import World
from somamba.scan.backends import BACKENDS, Request
from somamba.training import steps
from somamba.training.average import WeightAverage
from somamba.training.recipe import Optimiser, Recipe
from somamba.training.step import Requests, make_optimiser, take_step
from somamba.training.steps import Upcoming
from training.tiny import TinyNetwork, run, small_network, sums, tiny_recipe


def batch_of(size, number=0, coils=None):
    """Two slices measured through a mask of lines, and with coil maps if there are coils."""
    rng = torch.Generator().manual_seed(number)
    maps = None if coils is None else torch.randn(1, coils, size, size, dtype=torch.complex64, generator=rng) / coils
    A = encoding(torch.arange(size) % 2 == 0, maps)
    image = torch.randn(2, 1, size, size, dtype=torch.complex64, generator=rng)
    target = image.abs()
    return Batch(y=A(image), A=A, mask=A.factors[0].mask, target=target, scale=torch.ones(2),
                 case_ids=("a", "b"), slices=(number, number))  # fmt: skip


@pytest.fixture
def ahead(monkeypatch):
    """Let the CPU be treated as a device that runs ahead of the host."""
    monkeypatch.setattr(steps, "runs_ahead", lambda _device: True)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Take the ways of the code that a GPU takes, on the CPU: values are not checked, units run layer by layer."""
    for module in (conjugate_gradients, consistency, encoding_module):
        monkeypatch.setattr(module, "runs_ahead", lambda _device: True)
    monkeypatch.setattr(conjugate_gradients, "_line_solver", lambda *_given: None)
    monkeypatch.setattr(unit, "can_stream", lambda *_given: False)


def network_of(consistency):
    config = small_network()
    return replace(config, consistency=consistency, mixer=replace(config.mixer, backend="chunked"))


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize(("consistency", "coils"), [("hard", None), ("soft", 2)])
def test_no_step_of_so_mamba_looks_at_a_number(bf16, consistency, coils):
    model = SOMamba(network_of(consistency))
    recipe = Recipe(network=model.config, batch_size=2, bf16=bf16)
    optimiser, average = make_optimiser(model, recipe.optimiser), WeightAverage(model, 0.9)
    batch, before = batch_of(16, coils=coils), [parameter.detach().clone() for parameter in model.parameters()]
    BACKENDS.choose("chunked", Request(sizes=(4, 16, 8, 4)))  # Its test scan comes before the first step, not in it.
    with Looks() as looks:
        launched = take_step(model, optimiser, [batch], recipe, rate=0.1, world=World(), requests=Requests(save=True))
        average.follow(launched.finite, 0)
    assert looks.count == 0
    assert launched.result().finite
    assert launched.result().requests == Requests(stop=False, save=True)
    assert any(not torch.equal(new, old) for new, old in zip(model.parameters(), before, strict=True))


@pytest.mark.usefixtures("as_on_a_gpu")
def test_a_proximal_step_looks_at_its_tolerance_and_at_nothing_else():
    model = SOMamba(replace(network_of("proximal"), cg_iterations=CHECK_EVERY, cg_tolerance=1e-9))
    recipe = Recipe(network=model.config, batch_size=2)
    optimiser, batch = make_optimiser(model, recipe.optimiser), batch_of(16, coils=2)
    with Looks() as looks:
        take_step(model, optimiser, [batch], recipe, rate=0.1, world=World(), requests=Requests())
    assert looks.count == 2  # Once forwards and once backwards, in one group.


@pytest.mark.usefixtures("as_on_a_gpu")
def test_no_inference_of_so_mamba_looks_at_a_number():
    model, batch = SOMamba(network_of("hard")).eval(), batch_of(16)
    with Looks() as looks, torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        model(batch.y, batch.A)
    assert looks.count == 0


def test_a_look_is_noticed():
    with Looks() as looks:
        values = torch.ones(2)
        values.sum().item()
        bool(values.all())
        values.tolist()
        values.cpu()
    assert looks.count == 4


@pytest.mark.usefixtures("ahead")
def test_a_run_that_is_one_step_ahead_ends_with_the_bytes_of_one_that_waits(data, tmp_path, monkeypatch):
    recipe = tiny_recipe(data, optimiser=Optimiser(warmup_epochs=0.5, learning_rate=0.01))
    run(recipe, tmp_path / "ahead")
    monkeypatch.undo()
    run(recipe, tmp_path / "waiting")
    assert sums(tmp_path / "ahead") == sums(tmp_path / "waiting")
    losses = [
        [(event["step"], event["loss"]) for event in read_journal(tmp_path / name / "journal.jsonl") if "loss" in event]
        for name in ("ahead", "waiting")
    ]
    assert losses[0] == losses[1] != []


@pytest.mark.usefixtures("ahead")
def test_the_host_is_one_step_ahead_and_never_two(data, tmp_path, monkeypatch):
    order = []
    take, read = steps.take_step, steps.Launched.result
    monkeypatch.setattr(steps, "take_step", lambda *given, **named: order.append("take") or take(*given, **named))
    monkeypatch.setattr(steps.Launched, "result", lambda launched: order.append("read") or read(launched))
    recipe = tiny_recipe(data, epochs=3, validate_every=3.0, machine={"checkpoint_minutes": 10.0})
    run(recipe, tmp_path / "run")
    assert order == ["take", *["take", "read"] * 5, "read"]


@pytest.mark.usefixtures("ahead")
def test_a_checkpoint_is_asked_for_only_when_every_step_is_read(data, tmp_path, monkeypatch):
    unread, take = [], steps.Steps.take

    def watched(self, requests):
        asked = take(self, requests)
        if asked.save:
            unread.append(self.reached.step - self.progress.step)
        return asked

    monkeypatch.setattr(steps.Steps, "take", watched)
    run(tiny_recipe(data, epochs=3, validate_every=3.0, machine={"checkpoint_minutes": 1e-9}), tmp_path / "run")
    assert set(unread) == {0}


@pytest.mark.usefixtures("ahead")
def test_a_step_that_was_left_out_leaves_the_average_alone():
    model = TinyNetwork()
    waiting, following = WeightAverage(model, 0.9), WeightAverage(model, 0.9)
    taken = 0
    for finite in (False, True, True, False, True):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += finite
        taken += finite
        if finite:
            waiting.update(taken)
        following.follow(torch.tensor(finite), 0)
    for ours, theirs in zip(following.tensors().values(), waiting.tensors().values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def stream(asked):
    """Batches without end; notes the number of each that was asked for."""
    for number in count():
        asked.append(number)
        yield [batch_of(8, number)]


@pytest.mark.usefixtures("ahead")
def test_the_next_slices_are_prepared_while_a_step_runs_in_order_and_unchanged():
    asked = []
    upcoming = Upcoming(stream(asked), torch.device("cpu"))
    for number in range(3):
        (batch,) = upcoming.take()
        upcoming.prepare()
        upcoming.prepare()
        assert asked == list(range(number + 2))
        assert torch.equal(batch.y, batch_of(8, number).y)
        assert torch.equal(batch.target, batch_of(8, number).target)


def test_on_a_cpu_nothing_is_prepared_that_may_not_be_needed():
    asked = []
    upcoming = Upcoming(stream(asked), torch.device("cpu"))
    upcoming.take()
    upcoming.prepare()
    assert asked == [0]
