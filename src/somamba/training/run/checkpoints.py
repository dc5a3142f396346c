"""The checkpoints of a run: ``last`` to go on from, ``best`` to use; and the ways to begin from one.

``last`` holds the weights of the last step and, beside the optimiser's memory, their moving average if there is one;
``best`` holds the weights that were validated, which are the average. ``weights`` in config.yaml says which it is.
"""

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from somamba.errors import ConfigError, InputError
from somamba.inference.weights.checkpoint import (
    Checkpoint,
    TrainingState,
    load_weights,
    read_checkpoint,
    save_checkpoint,
    weights_digest,
)
from somamba.inference.weights.trained import epochs_of
from somamba.models.layers.neutral import neutral_names
from somamba.training.average import PREFIX, WeightAverage
from somamba.training.progress import Progress
from somamba.training.recipe import Recipe, differences, recorded

_log = logging.getLogger(__name__)

ORIGIN = ("started_from", "annealed_from")
"""Keys of config.yaml that say from which other checkpoint a run began; resuming carries them on."""


class CheckpointWriter:
    """Writes the checkpoints of a run."""

    def __init__(
        self,
        folder: Path | None,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        average: WeightAverage | None,
        recipe: Recipe,
        about: Mapping[str, Any],
    ) -> None:
        """Write checkpoints into the folder of a run.

        Args:
            folder: Folder of the run; None in a process that leaves writing to another.
            model: Supplies the weights.
            optimiser: Supplies its memory.
            average: Supplies the moving average of the weights; None if the recipe asks for none.
            recipe: What is trained.
            about: What config.yaml says besides the recipe and the progress.
        """
        self._folder, self._model, self._optimiser, self._average = folder, model, optimiser, average
        self._config = {"recipe": recorded(recipe), **about}
        self._written: Progress | None = None
        self._written_at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last checkpoint, or since the start."""
        return time.monotonic() - self._written_at

    def write_last(self, progress: Progress) -> None:
        """Write what resuming needs, unless it is written already."""
        if progress != self._written:
            tensors = optimiser_tensors(self._model, self._optimiser)
            tensors |= {} if self._average is None else self._average.tensors()
            self._save("last", progress, {"kind": "last step"}, TrainingState(tensors, asdict(progress)))
            self._written, self._written_at = progress, time.monotonic()

    def write_best(self, progress: Progress) -> None:
        """Write the weights that the model has now, which were just validated, as the best so far."""
        kind: dict[str, Any] = {"kind": "last step"}
        if self._average is not None:
            kind = {"kind": "moving average", "decay": self._average.decay, "steps": progress.taken}
        self._save("best", progress, kind, None)

    def _save(self, name: str, progress: Progress, weights: dict[str, Any], training: TrainingState | None) -> None:
        if self._folder is None:
            return
        config = {**self._config, "step": progress.step, "weights": weights, "validation": dict(progress.scores)}
        save_checkpoint(self._folder / name, Checkpoint(self._model.state_dict(), config, training))


class Resumed(NamedTuple):
    """What a run goes on from, besides the state of model, optimiser and average."""

    progress: Progress
    origin: dict[str, Any]
    """Entries of config.yaml that say from which other checkpoint the run began."""


def resume_run(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: WeightAverage | None,
    recipe: Recipe,
    hardware: Mapping[str, Any],
) -> Resumed:
    """Bring model, optimiser and average to where a checkpoint left them.

    Args:
        folder: The checkpoint.
        model: Gets its weights.
        optimiser: Gets its memory.
        average: Gets its moving average; None if the recipe asks for none.
        recipe: Refused if it computes something else than the recipe of the checkpoint.
        hardware: Device, processes and threads that go on; a warning says if they differ from those before.
    """
    found = read_checkpoint(folder)
    if found.training is None:
        raise InputError(f"{folder} holds weights only; training goes on from the folder 'last' of a run.")
    if changes := differences(recipe, found.config.get("recipe", {}), source=str(folder), may_grow=True):
        raise ConfigError(
            f"{folder} was made with another recipe ({'; '.join(changes[:4])}). Resume with the same one, or start a "
            "new run with --output."
        )
    before = found.config.get("hardware", found.config.get("hands"))
    if hardware != before:
        _log.warning(
            "%s was computed with %s, now %s: results agree, but not to the last bit", folder, before, dict(hardware)
        )
    load_weights(model, found.weights, source=str(folder))
    tensors = found.training.tensors
    memory = {name: value for name, value in tensors.items() if not name.startswith(PREFIX)}
    load_optimiser(model, optimiser, memory, source=str(folder))
    if average is not None:
        average.load(tensors, source=str(folder))
    progress = progress_of(found.training, source=str(folder))
    return Resumed(progress, {key: found.config[key] for key in ORIGIN if key in found.config})


def progress_of(training: TrainingState, *, source: str) -> Progress:
    """The progress that a checkpoint recorded; a field of another type is refused."""
    known = {item.name: getattr(Progress(), item.name) for item in fields(Progress)}
    for name, value in training.values.items():
        if name not in known:
            raise InputError(f"{source} was written by another version of somamba: {name!r} is not known.")
        if not _fits(value, known[name]):
            raise InputError(f"{source} is damaged: training.json has {name}={value!r:.80}.")
    return Progress(**training.values)


def _fits(value: Any, default: Any) -> bool:
    """Whether a value can stand in the place of this default: a table of numbers, a count, a number or none."""
    if isinstance(default, Mapping):
        return isinstance(value, Mapping) and all(_fits(item, 0.0) for item in value.values())
    if default is None and value is None:
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number and (not isinstance(default, int) or (isinstance(value, int) and value >= 0))


def start_from(folder: Path, model: nn.Module) -> dict[str, Any]:
    """Give a model the weights of a checkpoint, of another dataset or acceleration for example, and nothing else of it.

    Layers that change nothing at their start (`Neutral`) may be new: then the model begins where the checkpoint ended.

    Returns:
        What config.yaml records about it.
    """
    found = read_checkpoint(folder)
    load_weights(model, found.weights, source=str(folder), may_lack=neutral_names(model))
    origin = {
        "name": "/".join(folder.resolve().parts[-2:]),
        "digest": weights_digest(found.weights),
        "step": found.config.get("step"),
        "epochs": epochs_of(found.config, source=str(folder)) if "steps_per_epoch" in found.config else None,
        "data": found.config.get("data"),
    }
    return {"started_from": origin}


def check_origin(folder: Path, about: Mapping[str, Any], run: Path) -> None:
    """Refuse to resume a run that began from other weights than those named now.

    Args:
        folder: The checkpoint named now.
        about: What the run recorded about its origin.
        run: Folder of the run, for the message.
    """
    recorded_digest = (about.get("started_from") or {}).get("digest")
    if weights_digest(read_checkpoint(folder).weights) != recorded_digest:
        raise ConfigError(
            f"{run} did not start from the weights of {folder}. Resume it without --start-from, or give another "
            "--output to start a new run."
        )


def optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory of every parameter, as ``slot/parameter``."""
    return {
        f"{slot}/{name}": value
        for name, parameter in model.named_parameters()
        for slot, value in optimiser.state.get(parameter, {}).items()
    }


def load_optimiser(
    model: nn.Module, optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], *, source: str
) -> None:
    """Undo `optimiser_tensors`, after names and shapes have been compared.

    Args:
        model: Names the parameters.
        optimiser: Gets the memory.
        tensors: The memory by ``slot/parameter``.
        source: Where it comes from, for the message.
    """
    state: dict[int, dict[str, Tensor]] = {}
    parameters = dict(model.named_parameters())
    # PyTorch numbers parameters in the order of the optimiser's groups, which need not be the model's.
    order = (id(parameter) for group in optimiser.param_groups for parameter in group["params"])
    place_of = {key: place for place, key in enumerate(order)}
    for key, value in tensors.items():
        slot, _, name = key.partition("/")
        if name not in parameters or (value.ndim and value.shape != parameters[name].shape):
            raise InputError(f"{source}: the optimiser's {key!r} {tuple(value.shape)} does not fit the model.")
        state.setdefault(place_of[id(parameters[name])], {})[slot] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
