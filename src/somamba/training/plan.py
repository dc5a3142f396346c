"""Steps of a training: how many, which slices each has, and after which of them validation is due."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

import torch
from torch.utils.data import DataLoader

from somamba.data.batch import Batch, collate
from somamba.data.order import epoch_order, training_batches
from somamba.data.slices import SliceDataset
from somamba.errors import ConfigError
from somamba.training.parallel import World
from somamba.training.recipe import Recipe
from somamba.training.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What follows from a recipe, the number of slices and the number of processes."""

    steps_per_epoch: int
    steps: int
    validate_every: int
    """Steps between validations."""
    share: int
    """Slices of a step that one process computes."""
    micro_batch: int
    """Slices of one forward pass."""
    evaluation_batch: int
    """Slices of one forward pass of validation; the same for any number of processes, so that its scores are too."""
    schedule: Schedule

    def validates_after(self, step: int) -> bool:
        """Whether validation is due when ``step`` steps are done."""
        return step > 0 and (step % self.validate_every == 0 or step == self.steps)

    def validations(self, step: int) -> int:
        """How many validations are still to come when ``step`` steps are done."""
        return -(-self.steps // self.validate_every) - step // self.validate_every

    def epochs(self, step: int) -> float:
        """How often every slice has been seen."""
        return step / self.steps_per_epoch


def make_plan(recipe: Recipe, n_slices: int, processes: int = 1) -> Plan:
    """Count the steps; the number of processes changes who computes what, never what is computed."""
    if recipe.batch_size % processes:
        raise ConfigError(f"batch_size={recipe.batch_size} cannot be shared evenly by {processes} processes.")
    steps_per_epoch = n_slices // recipe.batch_size
    if steps_per_epoch == 0:
        raise ConfigError(f"batch_size={recipe.batch_size}, but there are only {n_slices} slices to train on.")
    steps = recipe.epochs * steps_per_epoch
    share = recipe.batch_size // processes
    return Plan(
        steps_per_epoch=steps_per_epoch,
        steps=steps,
        validate_every=max(1, round(recipe.validate_every * steps_per_epoch)),
        share=share,
        micro_batch=min(share, recipe.machine.micro_batch or share),
        evaluation_batch=min(recipe.batch_size, recipe.machine.micro_batch or recipe.batch_size),
        schedule=Schedule(
            peak=recipe.optimiser.learning_rate,
            warmup=round(recipe.optimiser.warmup_epochs * steps_per_epoch),
            steps=steps,
            floor=recipe.optimiser.final_rate,
        ),
    )


def batches_from(step: int, dataset: SliceDataset, recipe: Recipe, plan: Plan, world: World) -> Iterator[list[Batch]]:
    """The micro-batches of this process for one step after the other, from ``step`` on, for ever.

    The order of an epoch is computed from the seed and the epoch, so starting in the middle needs no memory.
    """
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
    """The same dataset with at most ``limit`` cases, evenly spread over all of them."""
    count_all = len(dataset.cases)
    if limit is None or limit >= count_all:
        return dataset
    return replace(dataset, cases=tuple(dataset.cases[i * count_all // limit] for i in range(limit)))
