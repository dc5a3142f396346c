"""What a run records about itself: in config.yaml of its checkpoints, and at the start of every session."""

from typing import Any

import torch

from somamba.data.slices import SliceDataset
from somamba.models.base import Reconstructor
from somamba.physics.sampling_mask import SamplingMask
from somamba.runtime.processes import World
from somamba.runtime.provenance import code_record
from somamba.training.plan import Plan
from somamba.training.progress import Progress
from somamba.training.recipe import Recipe


def about_run(model: Reconstructor, training: SliceDataset, plan: Plan, world: World) -> dict[str, Any]:
    """What config.yaml records besides the recipe and the progress.

    Args:
        model: The model.
        training: The slices that it is trained on.
        plan: What follows from the recipe.
        world: The processes that train.
    """
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
        "parameters": model.parameter_count,
        "training_cases": len(training.cases),
        "training_slices": len(training),
        "steps_per_epoch": plan.steps_per_epoch,
        "hardware": hardware(world),
        "code": code_record(),
    }


def hardware(world: World) -> dict[str, Any]:
    """Device, processes and threads: bits repeat only if all three do, because they fix the order of sums."""
    return {"device": world.device.type, "processes": world.size, "threads": torch.get_num_threads()}


def start_facts(model: Reconstructor, recipe: Recipe, plan: Plan, progress: Progress, world: World) -> dict[str, Any]:
    """What the journal notes when a session starts.

    Args:
        model: The model.
        recipe: What is trained.
        plan: What follows from it.
        progress: How far the run is.
        world: The processes that train.
    """
    return {
        "best": progress.best,
        "timed": plan.timed,
        "length": plan.length,
        "place": plan.place(progress),
        "schedule": recipe.optimiser.schedule if recipe.anneal is None else "anneal",
        "ema": recipe.optimiser.ema,
        "validate_every": plan.validate_every,
        "steps_per_epoch": plan.steps_per_epoch,
        "batch_size": recipe.batch_size,
        **hardware(world),
        "parameters": model.parameter_count,
    }
