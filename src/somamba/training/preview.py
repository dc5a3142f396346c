"""What a recipe would do, before it does it: counts from the data, times from two real steps."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from somamba.data.slices import open_slices, open_validation
from somamba.evaluation.cost.counted import Cost, measure_cost
from somamba.evaluation.evaluate import reconstruct
from somamba.runtime.device import use_threads
from somamba.runtime.processes import World, joined
from somamba.training.loop import build_model
from somamba.training.plan import Plan, batches_from, make_plan, spread_cases
from somamba.training.progress import Progress, seed_step
from somamba.training.recipe import Recipe
from somamba.training.step import Requests, make_optimiser, take_step
from somamba.training.steps import Upcoming


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The size of a training."""

    training_cases: int
    training_slices: int
    validation_cases: int
    validation_slices: int
    shape: tuple[int, ...]
    """(coils, y, x) of the first slice."""
    plan: Plan
    cost: Cost
    """Parameters, and multiply-accumulates of one slice."""
    device: str
    processes: int
    """Processes that share a step."""
    threads: int
    """The number of threads of each process."""
    step_seconds: float
    """Seconds of one measured step."""
    validation_seconds: float
    """Seconds of one validation, from one measured batch of it."""

    @property
    def seconds(self) -> float:
        """Seconds of the whole training: steps and validations."""
        steps = (self.plan.length - self.plan.start) * (1 if self.plan.timed else self.step_seconds)
        return steps + self.plan.validations * self.validation_seconds


def preview(recipe: Recipe) -> Preview:
    """Open the data, build the model and measure; nothing is written but prepared slices."""
    use_threads(recipe.machine.threads)
    training, validation = open_slices(recipe.data, "train"), open_validation(recipe.data)
    validation = spread_cases(validation, recipe.validation_cases)
    with joined(recipe.machine.device) as world:
        plan = make_plan(recipe, len(training), world.size)
        model = build_model(recipe).to(world.device)
        optimiser = make_optimiser(model, recipe.optimiser)
        upcoming = Upcoming(batches_from(0, training, recipe, plan, world), world.device)

        def step() -> None:
            seed_step(recipe.seed, 0, world.rank)
            take_step(
                model, optimiser, upcoming.take(), recipe, rate=plan.rate(Progress()), world=world, requests=Requests()
            ).result()

        step()  # The first one allocates; it is not measured.
        # Without validation cases, training slices stand in; the time of no validation is zero then.
        slices = validation if validation.cases else training
        first = slices.batch(range(min(plan.evaluation_batch, len(slices.cases[0].slices))))
        evaluation = _seconds(lambda: reconstruct(model.eval(), first.to(world.device)), world)
        sample = training[0]
        coils, height, width = sample.kspace.shape
        return Preview(
            training_cases=len(training.cases),
            training_slices=len(training),
            validation_cases=len(validation.cases),
            validation_slices=len(validation),
            shape=(coils, height, width),
            plan=plan,
            cost=measure_cost(model, (height, width), coils=1 if sample.maps is not None else coils),
            device=str(world.device),
            processes=world.size,
            threads=torch.get_num_threads(),
            step_seconds=_seconds(step, world),
            validation_seconds=evaluation * len(validation) / len(first) / world.size,
        )


def _seconds(work: Callable[[], object], world: World) -> float:
    began = time.perf_counter()
    work()
    if world.device.type == "cuda":
        torch.cuda.synchronize(world.device)
    return time.perf_counter() - began
