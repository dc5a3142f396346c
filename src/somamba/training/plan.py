"""Steps of a training: how many, which slices each has, and after which of them validation is due.

Under a budget of minutes the clock takes the place of the step: what a recipe says in epochs is stretched over the
budget in proportion, so that every network, fast or slow, has the same warm-up, the same cosine and the same number of
validations in the same time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

import torch
from torch.utils.data import DataLoader

from somamba.data.batch import Batch, collate
from somamba.data.order import epoch_order, training_batches
from somamba.data.simulation.orientation import Orientation
from somamba.data.slices import SliceDataset
from somamba.errors import ConfigError
from somamba.runtime.processes import World
from somamba.training.progress import Progress
from somamba.training.recipe import Recipe
from somamba.training.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What follows from a recipe, the number of slices and the number of processes."""

    steps_per_epoch: int
    timed: bool
    """Whether places in the training are seconds of a budget; else they are steps."""
    length: int | float
    """The length of the whole training, in steps or seconds."""
    validate_every: int | float
    """The distance between validations, in steps or seconds."""
    share: int
    """Slices of a step that one process computes."""
    micro_batch: int
    """Slices of one forward pass."""
    evaluation_batch: int
    """Slices of one forward pass of validation; the same for any number of processes, so that its scores are too."""
    schedule: Schedule
    start: int = 0
    """Step at which the training begins: that of another run if it is annealed."""

    @property
    def validations(self) -> int:
        """How many there are in the whole training, the one at its end among them."""
        # Shares of a budget may be off by a last bit, which is no validation of its own.
        return math.ceil(self.length / self.validate_every - 1e-9) - math.floor(self.start / self.validate_every)

    def place(self, progress: Progress) -> int | float:
        """How far a training is: steps done, or seconds spent on them."""
        return progress.seconds if self.timed else progress.step

    def rate(self, progress: Progress) -> float:
        """The learning rate of the next step."""
        return self.schedule(self.place(progress))

    def is_over(self, progress: Progress) -> bool:
        """Whether no step is left to take."""
        return self.place(progress) >= self.length

    def validation_due(self, progress: Progress) -> bool:
        """Whether the weights of this moment are to be validated: one is due since the last, or this is the end."""
        if progress.validated == progress.step:
            return False
        last = progress.validated_seconds if self.timed else progress.validated
        passed = self.place(progress) // self.validate_every > last // self.validate_every
        return passed or self.is_over(progress)


def make_plan(recipe: Recipe, n_slices: int, processes: int = 1) -> Plan:
    """Count the steps; the number of processes changes who computes what, never what is computed.

    Args:
        recipe: The recipe.
        n_slices: The number of training slices.
        processes: The number of processes.
    """
    if recipe.batch_size % processes:
        raise ConfigError(f"batch_size={recipe.batch_size} cannot be shared evenly by {processes} processes.")
    steps_per_epoch = n_slices // recipe.batch_size
    if steps_per_epoch == 0:
        raise ConfigError(f"batch_size={recipe.batch_size}, but there are only {n_slices} slices to train on.")
    timed = recipe.minutes is not None
    length = recipe.epochs * steps_per_epoch if recipe.minutes is None else 60 * recipe.minutes
    epoch = length / recipe.epochs
    validate_every = recipe.validate_every * epoch
    schedule, start = _schedule(recipe, length, epoch), 0
    if recipe.anneal is not None:
        start = recipe.anneal.step
        length = start + max(1, round(recipe.anneal.epochs * epoch))
        schedule = replace(schedule, decay_from=start, decay_length=length - start, decay_to=0.0)
    share = recipe.batch_size // processes
    return Plan(
        steps_per_epoch=steps_per_epoch,
        timed=timed,
        length=length,
        validate_every=validate_every if timed else max(1, round(validate_every)),
        share=share,
        micro_batch=min(share, recipe.machine.micro_batch or share),
        evaluation_batch=min(recipe.batch_size, recipe.machine.micro_batch or recipe.batch_size),
        schedule=schedule,
        start=start,
    )


def _schedule(recipe: Recipe, length: int | float, epoch: float) -> Schedule:
    """The learning rate of a training of this length, measured as ``epoch`` is: in steps or in seconds."""
    optimiser, timed = recipe.optimiser, recipe.minutes is not None
    warmup, decay = (epochs * epoch for epochs in (optimiser.warmup_epochs, optimiser.decay_epochs))
    if not timed:
        warmup, decay = round(warmup), round(decay)
    return Schedule(
        peak=optimiser.learning_rate,
        warmup=warmup,
        length=length,
        shape=optimiser.schedule,
        stride=0 if timed else 1,
        floor=optimiser.final_rate,
        decay_from=length - decay if decay else None,
        decay_length=decay,
        decay_to=optimiser.final_rate,
    )


def batches_from(step: int, dataset: SliceDataset, recipe: Recipe, plan: Plan, world: World) -> Iterator[list[Batch]]:
    """The micro-batches of this process for one step after the other, from ``step`` on, for ever.

    The order of an epoch is computed from the seed and the epoch, so starting in the middle needs no memory.

    Args:
        step: The first step.
        dataset: The training slices.
        recipe: The recipe.
        plan: The steps of the run.
        world: The processes that train together.
    """
    dataset = replace(dataset, orientation=Orientation(mirror=recipe.mirror, turn=recipe.turn, tilt=recipe.tilt))
    for epoch in count(step // plan.steps_per_epoch):
        order = epoch_order(len(dataset), seed=recipe.seed, epoch=epoch)
        shares = list(training_batches(order, plan.share, rank=world.rank, world=world.size))
        starts = range(0, plan.share, plan.micro_batch)
        todo = shares[max(0, step - epoch * plan.steps_per_epoch) :]
        loader: DataLoader[Any] = DataLoader(
            cast(Any, dataset.at(epoch)),
            batch_sampler=[share[start : start + plan.micro_batch].tolist() for share in todo for start in starts],
            collate_fn=collate,
            num_workers=recipe.machine.workers,
            generator=torch.Generator(),  # Of its own, because a loader draws a number when it starts.
        )
        yield from map(list, zip(*[iter(loader)] * len(starts), strict=True))


def spread_cases(dataset: SliceDataset, limit: int | None) -> SliceDataset:
    """The dataset with at most ``limit`` of its cases, evenly spread over all of them."""
    count_all = len(dataset.cases)
    if limit is None or limit >= count_all:
        return dataset
    return replace(dataset, cases=tuple(dataset.cases[i * count_all // limit] for i in range(limit)))
