"""The training loop, to be read from top to bottom.

A run is a folder: ``last/`` to resume from, ``best/`` the weights of the best validation, ``journal.jsonl``. Whatever
happens in between (kill, signal, full disk, time limit), resuming ends with the same bytes as a run never interrupted,
given the same number of processes and threads. A budget of minutes (`Recipe.minutes`) gives that up: its schedule
follows the clock, which resuming goes on to count but nobody can repeat.
"""

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from somamba.data.slices import SliceDataset, open_slices
from somamba.errors import ConfigError, InputError
from somamba.evaluation.evaluate import evaluate, summary
from somamba.inference.checkpoint import has_checkpoint
from somamba.models.base import Reconstructor
from somamba.models.zoo import MODELS
from somamba.physics.masks import SamplingMask
from somamba.runtime.processes import World, joined
from somamba.runtime.provenance import code_record
from somamba.runtime.threads import use_threads
from somamba.training.journal import Journal, Listener
from somamba.training.plan import Plan, batches_from, make_plan, spread_cases
from somamba.training.recipe import Recipe
from somamba.training.state import Keeper, Progress, resume_run, seed_step
from somamba.training.step import Wishes, advance, make_optimiser, take_step
from somamba.training.stop import StopRequest


class Outcome(NamedTuple):
    """How a session of training ended."""

    reason: Literal["finished", "time", "signal"]
    signal: int | None
    progress: Progress


def fit(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool = False,
    tell: Listener = lambda _event: None,
    stop: StopRequest | None = None,
) -> Outcome:
    """Train as a recipe says; under ``torchrun`` together with the other processes.

    Args:
        recipe: What to do.
        folder: Where the run is kept.
        resume: Go on from ``folder/last`` where it is there.
        tell: Hears of every event, see `Journal`.
        stop: A request that is listening already; by default one that listens as long as the training runs.
    """
    with joined(recipe.machine.device) as world:
        use_threads(recipe.machine.threads)
        training, validation = open_slices(recipe.data, "train"), open_slices(recipe.data, "val")
        validation = spread_cases(validation, recipe.validation_cases)
        model = build_model(recipe)
        return train(model, training, validation, recipe, folder, world=world, resume=resume, tell=tell, stop=stop)


def build_model(recipe: Recipe) -> Reconstructor:
    """The model of a recipe, with the initial weights its seed names."""
    torch.manual_seed(recipe.seed)
    model = MODELS[recipe.model].build(recipe.network)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(f"model={recipe.model!r} has nothing to learn.")
    return model


def train(
    model: Reconstructor,
    training: SliceDataset,
    validation: SliceDataset,
    recipe: Recipe,
    folder: Path,
    *,
    world: World,
    resume: bool = False,
    tell: Listener = lambda _event: None,
    stop: StopRequest | None = None,
) -> Outcome:
    """Train a model on slices that are open already; see `fit`."""
    started = time.monotonic()
    plan = make_plan(recipe, len(training), world.size)
    model.to(world.device)
    optimiser = make_optimiser(model, recipe.optimiser)
    progress = Progress()
    if has_checkpoint(folder / "last"):
        if not resume:
            raise InputError(f"{folder} holds a run already: --resume goes on with it, --output FOLDER starts another.")
        progress = resume_run(folder / "last", model, optimiser, recipe, _hands(world))
    world.wait()  # Nobody writes before everybody has read.
    keeper = Keeper(folder if world.leads else None, model, optimiser, recipe, _about(model, training, plan, world))
    path = folder / "journal.jsonl" if world.leads else None
    listening = StopRequest() if stop is None else nullcontext(stop)
    with Journal(path, tell, keep=progress.includes) as journal, listening as request:
        journal.write("start", step=progress.step, **_numbers(model, recipe, plan, progress, world))
        stream = batches_from(progress.step, training, recipe, plan, world)
        stopping = False
        while not stopping:
            if plan.validation_due(progress):
                progress = _validate(model, validation, progress, plan, world, keeper, journal)
            if plan.is_over(progress):
                break
            began = time.monotonic()
            wishes = Wishes(
                stop=request.signal is not None or _over(began - started, recipe.machine.max_minutes),
                save=_over(keeper.age, recipe.machine.checkpoint_minutes),
            )
            seed_step(recipe, progress.step, world.rank)
            rate = plan.rate(progress)
            result = take_step(model, optimiser, next(stream), recipe, rate=rate, world=world, wishes=wishes)
            progress = advance(progress, result, plan, recipe.optimiser)
            seconds = time.monotonic() - began
            if plan.timed:
                seconds = world.of_leader(seconds)
                progress = replace(progress, seconds=progress.seconds + seconds)
            journal.write("step", step=progress.step, **result.facts(), loss_mean=progress.mean_loss, seconds=seconds)
            if result.wishes.save:
                keeper.keep_last(progress)
            stopping = result.wishes.stop
        keeper.keep_last(progress)
        outcome = Outcome(_reason(progress, plan, request), request.signal, progress)
        journal.write("stop", step=progress.step, reason=outcome.reason, seconds=time.monotonic() - started)
    return outcome


def _validate(
    model: Reconstructor,
    validation: SliceDataset,
    progress: Progress,
    plan: Plan,
    world: World,
    keeper: Keeper,
    journal: Journal,
) -> Progress:
    """Score the validation cases and keep the weights if they are the best so far."""
    keeper.keep_last(progress)  # A kill during validation costs the validation, not the steps before it.
    began = time.monotonic()
    world.share_buffers(model)
    results = evaluate(model.eval(), validation, batch_size=plan.evaluation_batch, device=world.device, processes=world)
    scores = {name: spread.mean for name, spread in summary(results).items()}
    improved = progress.best is None or scores["psnr"] > progress.best
    best = scores["psnr"] if improved else progress.best
    progress = replace(progress, validated=progress.step, validated_seconds=progress.seconds, scores=scores, best=best)
    if improved:
        keeper.keep_best(progress)  # Before "last": whoever resumes there finds the best it speaks of.
    journal.write("validation", step=progress.step, **scores, improved=improved, seconds=time.monotonic() - began)
    keeper.keep_last(progress)
    return progress


def _about(model: Reconstructor, training: SliceDataset, plan: Plan, world: World) -> dict[str, Any]:
    """What a checkpoint says of itself besides the recipe."""
    config = training.config
    mask = SamplingMask(training[0].mask[0], config.mask_kind, config.acceleration)
    return {
        "protocol": config.protocol,
        "data": config.facts(),
        "mask": {
            "kind": mask.kind,
            "acceleration": mask.acceleration,
            "realised_acceleration": mask.realised_acceleration,
            "digest": None if config.draws_masks else mask.digest,
        },
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training_cases": len(training.cases),
        "training_slices": len(training),
        "steps_per_epoch": plan.steps_per_epoch,
        "hands": _hands(world),
        "code": code_record(),
    }


def _hands(world: World) -> dict[str, Any]:
    """What decides the order of sums, and with it the last bits."""
    return {"device": world.device.type, "processes": world.size, "threads": torch.get_num_threads()}


def _numbers(model: Reconstructor, recipe: Recipe, plan: Plan, progress: Progress, world: World) -> dict[str, Any]:
    return {
        "best": progress.best,
        "timed": plan.timed,
        "length": plan.length,
        "place": plan.place(progress),
        "validate_every": plan.validate_every,
        "steps_per_epoch": plan.steps_per_epoch,
        "batch_size": recipe.batch_size,
        **_hands(world),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def _over(seconds: float, minutes: float | None) -> bool:
    return minutes is not None and seconds > 60 * minutes


def _reason(progress: Progress, plan: Plan, request: StopRequest) -> Literal["finished", "time", "signal"]:
    if plan.is_over(progress) and progress.validated == progress.step:
        return "finished"
    return "time" if request.signal is None else "signal"
