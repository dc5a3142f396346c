"""The training loop, to be read from top to bottom.

A run is a folder: ``last/`` to resume from, ``best/`` the weights of the best validation, ``journal.jsonl``. Whatever
happens in between (kill, signal, full disk, time limit), resuming ends with the same bytes as a run never interrupted,
given the same number of processes and threads. A budget of minutes (`Recipe.minutes`) gives that up: its schedule
follows the clock. Resuming goes on counting its seconds, but a second run takes other ones.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from somamba.data.slices import SliceDataset, open_slices, open_validation
from somamba.errors import ConfigError, InputError, SomambaError
from somamba.evaluation.evaluate import evaluate, summary
from somamba.inference.weights.checkpoint import has_checkpoint
from somamba.models.base import Reconstructor
from somamba.models.bounded import at_most
from somamba.models.zoo import MODELS
from somamba.results.journal import JOURNAL
from somamba.runtime.device import use_threads
from somamba.runtime.lock import locked
from somamba.runtime.processes import World, joined
from somamba.training.average import WeightAverage
from somamba.training.plan import Plan, batches_from, make_plan, spread_cases
from somamba.training.progress import Progress
from somamba.training.recipe import Recipe
from somamba.training.run.checkpoints import CheckpointWriter, check_origin, resume_run, start_from
from somamba.training.run.facts import about_run, hardware, start_facts
from somamba.training.run.journal import Journal, Listener
from somamba.training.run.picture import ValidationPicture
from somamba.training.step import Requests, make_optimiser
from somamba.training.steps import Steps, Upcoming
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
    origin: Path | None = None,
    tell: Listener = lambda _event: None,
    stop: StopRequest | None = None,
) -> Outcome:
    """Train as a recipe says; under ``torchrun`` together with the other processes.

    Args:
        recipe: What to do.
        folder: Folder of the run.
        resume: Go on from ``folder/last`` if it is there.
        origin: Checkpoint whose weights a new run starts from; by default the seed's. Nothing else of it is used.
        tell: Function that is called with every event, see `Journal`.
        stop: A request that is listening already; by default one that listens as long as the training runs.
    """
    with joined(recipe.machine.device) as world:
        use_threads(recipe.machine.threads)
        training = open_slices(recipe.data, "train", on_case=_told("training", tell))
        validation = open_validation(recipe.data, on_case=_told("validation", tell))
        validation = spread_cases(validation, recipe.validation_cases)
        model = build_model(recipe)
        with _claimed(folder, world):
            asked: dict[str, Any] = {"resume": resume, "origin": origin, "tell": tell, "stop": stop}
            return train(model, training, validation, recipe, folder, world=world, **asked)


def _told(cases: str, tell: Listener) -> Callable[[int, int], None]:
    """Return a function that reports how many cases are prepared: the first time on a machine that takes minutes."""
    return lambda done, count: tell({"event": "prepare", "step": 0, "cases": cases, "done": done, "count": count})


def build_model(recipe: Recipe) -> Reconstructor:
    """The model of a recipe, with the initial weights its seed names; compiled at its first call if that is wanted."""
    torch.manual_seed(recipe.seed)
    with at_most(source=f"model={recipe.model!r}"):
        model = MODELS[recipe.model].build(recipe.network)
    if not model.parameter_count:
        raise ConfigError(f"model={recipe.model!r} has nothing to learn.")
    if recipe.machine.compile_units:
        for part in model.parts_to_compile():
            part.compile()
    return model


@contextmanager
def _claimed(folder: Path, world: World) -> Iterator[None]:
    """Keep other trainers out of the folder of a run; all processes fail if the first one cannot."""
    refused: SomambaError | None = None
    with ExitStack() as stack:
        if world.leads:
            try:
                stack.enter_context(locked(folder))
            except SomambaError as error:
                refused = error
        if world.of_leader(float(refused is not None)):
            raise refused or InputError(f"{folder} could not be locked by the first process.")
        yield


def train(
    model: Reconstructor,
    training: SliceDataset,
    validation: SliceDataset,
    recipe: Recipe,
    folder: Path,
    *,
    world: World,
    resume: bool = False,
    origin: Path | None = None,
    tell: Listener = lambda _event: None,
    stop: StopRequest | None = None,
) -> Outcome:
    """Train a model on slices that are open already, in a folder that no other process writes to; see `fit`.

    Args:
        model: The model.
        training: The slices to train on.
        validation: The slices that choose the best weights.
        recipe: The recipe.
        folder: Where the run is written.
        world: The processes that train together.
        resume: Go on from the last checkpoint in ``folder``.
        origin: The weights that the training started from.
        tell: Called with every event of the journal.
        stop: Says when to end before the budget is used up.
    """
    started = time.monotonic()
    plan = make_plan(recipe, len(training), world.size)
    model.to(world.device)
    optimiser = make_optimiser(model, recipe.optimiser)
    begun = _begin(model, optimiser, recipe, folder, world=world, resume=resume, origin=origin)
    progress, average = begun.progress, begun.average
    about = {**about_run(model, training, plan, world), **begun.origin}
    checkpoints = CheckpointWriter(folder if world.leads else None, model, optimiser, average, recipe, about)
    own_journal = Journal(folder / JOURNAL if world.leads else None, tell, keep=progress.includes)
    with own_journal as journal, StopRequest() if stop is None else nullcontext(stop) as request:
        journal.write("start", step=progress.step, **start_facts(model, recipe, plan, progress, world))
        if begun.origin:
            checkpoints.write_last(progress)  # From here on a run can be resumed without naming its origin again.
        steps = Steps(
            model=model,
            optimiser=optimiser,
            recipe=recipe,
            plan=plan,
            world=world,
            average=average,
            journal=journal,
            upcoming=Upcoming(batches_from(progress.step, training, recipe, plan, world), world.device),
            progress=progress,
        )
        stopping = False
        while not stopping:
            if plan.validation_due(steps.reached) or plan.is_over(steps.reached):
                steps.settle()
            if plan.validation_due(steps.progress):
                steps.progress = _validate(
                    model, average, validation, steps.progress, plan, world, checkpoints, journal, folder
                )
            if plan.is_over(steps.progress):
                break
            requests = Requests(
                stop=request.signal is not None or _over(time.monotonic() - started, recipe.machine.max_minutes),
                save=_over(checkpoints.age, recipe.machine.checkpoint_minutes),
            )
            asked = steps.take(requests)
            if asked.save:
                checkpoints.write_last(steps.progress)
            stopping = asked.stop
        progress = steps.progress
        checkpoints.write_last(progress)
        outcome = Outcome(_reason(progress, plan, request), request.signal, progress)
        journal.write("stop", step=progress.step, reason=outcome.reason, seconds=time.monotonic() - started)
    return outcome


class _Beginning(NamedTuple):
    """The step and state at which a session begins."""

    progress: Progress
    average: WeightAverage | None
    origin: dict[str, Any]
    """Entries of config.yaml that say from which other checkpoint the run began; empty for most runs."""


def _begin(
    model: Reconstructor,
    optimiser: torch.optim.Optimizer,
    recipe: Recipe,
    folder: Path,
    *,
    world: World,
    resume: bool,
    origin: Path | None,
) -> _Beginning:
    """Bring model and optimiser to where the run stands: at its last checkpoint, at given weights, or at the seed's."""
    average = WeightAverage(model, recipe.optimiser.ema) if recipe.optimiser.ema > 0 else None
    progress, about = Progress(), dict[str, Any]()
    if has_checkpoint(folder / "last"):
        if not resume:
            raise InputError(f"{folder} holds a run already: --resume goes on with it, --output FOLDER starts another.")
        progress, about = resume_run(folder / "last", model, optimiser, average, recipe, hardware(world))
        if origin is not None:
            check_origin(origin, about, folder)
    elif origin is not None:
        about = start_from(origin, model)
    world.wait()  # Every process has read before the first one writes.
    return _Beginning(progress, average, about)


def _validate(
    model: Reconstructor,
    average: WeightAverage | None,
    validation: SliceDataset,
    progress: Progress,
    plan: Plan,
    world: World,
    checkpoints: CheckpointWriter,
    journal: Journal,
    folder: Path,
) -> Progress:
    """Score the validation cases with the averaged weights, if there are any, and keep them if they are the best."""
    checkpoints.write_last(progress)  # A kill during validation costs the validation, not the steps before it.
    began = time.monotonic()
    world.share_buffers(model)
    if not validation.cases:
        # Nothing is held out (validation: none): the latest weights stand for the best.
        progress = replace(progress, validated=progress.step, validated_seconds=progress.seconds)
        with nullcontext() if average is None else average.applied():
            checkpoints.write_best(progress)
        checkpoints.write_last(progress)
        return progress
    shown = ValidationPicture(folder, validation)
    with nullcontext() if average is None else average.applied():
        results = evaluate(
            model.eval(),
            validation,
            batch_size=plan.evaluation_batch,
            device=world.device,
            processes=world,
            on_slice=shown.take,
        )
        shown.write()
        scores = {name: spread.mean for name, spread in summary(results).items()}
        improved = progress.best is None or scores["psnr"] > progress.best
        best = scores["psnr"] if improved else progress.best
        progress = replace(progress, validated=progress.step, validated_seconds=progress.seconds)
        progress = replace(progress, scores=scores, best=best)
        if improved:
            checkpoints.write_best(progress)  # Before "last", which names the best: a resumed run finds it.
    facts = {"improved": improved, "averaged": average is not None, "seconds": time.monotonic() - began}
    journal.write("validation", step=progress.step, **scores, **facts)
    checkpoints.write_last(progress)
    return progress


def _over(seconds: float, minutes: float | None) -> bool:
    return minutes is not None and seconds > 60 * minutes


def _reason(progress: Progress, plan: Plan, request: StopRequest) -> Literal["finished", "time", "signal"]:
    if plan.is_over(progress) and progress.validated == progress.step:
        return "finished"
    return "time" if request.signal is None else "signal"
