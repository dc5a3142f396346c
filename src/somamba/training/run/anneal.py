"""Weights for use from a run that goes on: a copy of its last checkpoint whose learning rate decays to zero.

The copy is a run of its own, in a folder of its own, and is resumed like any other; the original run is only read, and
may be training meanwhile.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from somamba.data.catalog import split_entries
from somamba.durable import replace_file
from somamba.errors import ConfigError, InputError
from somamba.inference.weights.checkpoint import (
    Checkpoint,
    TrainingState,
    has_checkpoint,
    read_checkpoint,
    read_config,
    save_checkpoint,
    weights_digest,
)
from somamba.results.journal import JOURNAL
from somamba.runtime.lock import locked
from somamba.runtime.processes import announced_rank
from somamba.training.recipe import Anneal, Recipe, differences, recipe_from_plain, recorded
from somamba.training.run.checkpoints import progress_of

ATTEMPTS, PAUSE = 10, 0.5
"""A checkpoint that is just being replaced cannot be read; so many attempts are made, so many seconds apart."""


def annealed_folder(run: Path) -> Path:
    """The folder of the annealed copy of a run, unless another one is named."""
    return run.with_name(f"{run.name}_annealed")


def begin_annealing(
    run: Path, folder: Path, epochs: float, overrides: Sequence[str] = (), *, resume: bool = False, dry: bool = False
) -> Recipe:
    """Make a folder from which `somamba.training.loop.fit` anneals a run when it resumes there.

    Of several processes the first makes it and the others wait for it.

    Args:
        run: Folder of the run that goes on.
        folder: Folder of the annealed copy.
        epochs: Length of the decay; may be a fraction.
        overrides: Options for the machine, and for the places of data; others are refused.
        resume: Go on with a copy that was begun before, if there is one.
        dry: Only return the recipe; write nothing.

    Returns:
        The recipe of the copy.
    """
    if announced_rank() != 0 and not dry:
        _wait_for(folder / "last")
        resume = True
    if folder.resolve() == run.resolve():
        raise ConfigError(f"--output {folder} is the run itself, which annealing must not touch; name another folder.")
    if has_checkpoint(folder / "last"):
        if not resume:
            raise InputError(f"{folder} holds a run already: --resume goes on with it, --output FOLDER starts another.")
        recipe = _recipe(folder, read_config(folder / "last").get("recipe", {}), overrides)
        if recipe.anneal is None or recipe.anneal.epochs != epochs:
            raise ConfigError(f"{folder} is not a run that is annealed over {epochs:g} epochs; give another --output.")
        return recipe
    found = _read_last(run)
    if found.training is None:
        raise InputError(f"{run / 'last'} holds weights only; a run that can go on is needed.")
    progress = progress_of(found.training, source=str(run))
    recipe = _recipe(run, found.config.get("recipe", {}), overrides)
    if recipe.anneal is not None:
        raise ConfigError(f"{run} is annealed already.")
    recipe = replace(recipe, anneal=Anneal(step=progress.step, epochs=epochs))
    if not dry:
        # Data that are not there are noticed before a folder is made that would have to be removed again.
        split_entries(recipe.data.dataset, recipe.data.root, "train", validation=recipe.data.validation)
        with locked(folder):
            _copy(run, found, recipe, folder)
    return recipe


def _copy(run: Path, found: Checkpoint, recipe: Recipe, folder: Path) -> None:
    """Write the first checkpoint of the copy, and the journal that led to it."""
    training = found.training or TrainingState()
    progress = progress_of(training, source=str(run))
    origin = {"name": run.resolve().name, "step": progress.step, "digest": weights_digest(found.weights)}
    config = {**found.config, "recipe": recorded(recipe), "annealed_from": origin}
    # The best of the original lies in its own folder; here the first validation is the best so far.
    values = asdict(replace(progress, best=None))
    journal = run / JOURNAL
    if journal.is_file():
        # Resuming cuts it back to the step of the checkpoint.
        replace_file(folder / journal.name, journal.read_bytes())
    save_checkpoint(folder / "last", Checkpoint(found.weights, config, TrainingState(training.tensors, values)))


def _recipe(folder: Path, record: Mapping[str, Any], overrides: Sequence[str]) -> Recipe:
    """The recorded recipe on this machine; a time limit was meant for the session that recorded it."""
    if not isinstance(record, Mapping) or not isinstance(record.get("machine", {}), Mapping):
        raise InputError(f"{folder}: config.yaml does not hold the recipe of a run.")
    machine = {**record.get("machine", {}), "max_minutes": None}
    recipe = recipe_from_plain({**record, "machine": machine}, overrides, source=str(folder))
    if changes := differences(recipe, record, source=str(folder)):
        differing = "; ".join(changes[:4])
        raise ConfigError(f"Only machine.*, data.path and data.cache may differ from the run's recipe ({differing}).")
    return recipe


def _wait_for(folder: Path) -> None:
    """Wait until the first of several processes has begun; if it fails, ``torchrun`` ends this one."""
    while not has_checkpoint(folder):
        time.sleep(PAUSE)


def _read_last(run: Path) -> Checkpoint:
    """The last checkpoint of a run that may be replacing it at this moment."""
    last = run / "last"
    for _ in range(ATTEMPTS - 1):
        try:
            return read_checkpoint(last)
        except InputError:
            if not has_checkpoint(last):
                break
        time.sleep(PAUSE)
    return read_checkpoint(last)
