"""Where a training stands, and its way to disk and back: with this and the recipe the rest of the run is decided.

The order of slices, the learning rate and every draw of a step are functions of the seed and the step, so no generator
has to be stored: a step sees the same numbers whether the run was interrupted before it or not.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from somamba.data.order import seed_of
from somamba.errors import ConfigError, InputError
from somamba.inference.checkpoint import Checkpoint, TrainingState, load_weights, read_checkpoint, save_checkpoint
from somamba.training.recipe import Recipe, differences, recorded

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """The numbers of a run; the weights and the optimiser are the rest."""

    step: int = 0
    """Steps done."""
    loss_sum: float = 0.0
    """Of the steps of the current epoch."""
    loss_steps: int = 0
    skipped: int = 0
    """Steps left out because their gradient was not finite."""
    skipped_in_row: int = 0
    validated: int = 0
    """Steps done at the last validation."""
    best: float | None = None
    """Highest PSNR on the validation cases."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Means of the last validation."""
    seconds: float = 0.0
    """Time that the steps took, counted under a budget of minutes only: elsewhere no clock decides a byte."""
    validated_seconds: float = 0.0
    """The same at the last validation."""

    @property
    def mean_loss(self) -> float | None:
        """Mean over the steps of the current epoch; None where all were skipped."""
        return self.loss_sum / self.loss_steps if self.loss_steps else None

    def includes(self, event: Mapping[str, Any]) -> bool:
        """Whether an event of the journal lies before this point; nothing does where nothing was done yet."""
        done = self.validated if event["event"] == "validation" else self.step
        return self.step > 0 and event["step"] <= done


def seed_step(recipe: Recipe, step: int, rank: int) -> None:
    """Make whatever a model draws in this step, dropout for one, a function of seed, step and process."""
    torch.manual_seed(seed_of("step", recipe.seed, step, rank))


class Keeper:
    """Writes the checkpoints of a run: ``last`` to go on from, ``best`` to use."""

    def __init__(
        self,
        folder: Path | None,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        recipe: Recipe,
        about: Mapping[str, Any],
    ) -> None:
        """Keep a run.

        Args:
            folder: Of the run; None in a process that leaves writing to another.
            model: Its weights.
            optimiser: Its memory.
            recipe: What is trained.
            about: What config.yaml says besides the recipe and the progress.
        """
        self._folder, self._model, self._optimiser = folder, model, optimiser
        self._config = {"recipe": recorded(recipe), **about}
        self._kept: Progress | None = None
        self._kept_at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last checkpoint, or since the start."""
        return time.monotonic() - self._kept_at

    def keep_last(self, progress: Progress) -> None:
        """Write what resuming needs; nothing to do where it is written already."""
        if progress != self._kept:
            tensors = optimiser_tensors(self._model, self._optimiser)
            self._save("last", progress, TrainingState(tensors, asdict(progress)))
            self._kept, self._kept_at = progress, time.monotonic()

    def keep_best(self, progress: Progress) -> None:
        """Write the weights as the best so far."""
        self._save("best", progress, None)

    def _save(self, name: str, progress: Progress, training: TrainingState | None) -> None:
        if self._folder is None:
            return
        config = {**self._config, "step": progress.step, "validation": dict(progress.scores)}
        save_checkpoint(self._folder / name, Checkpoint(self._model.state_dict(), config, training))


def resume_run(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, recipe: Recipe, hands: Mapping[str, Any]
) -> Progress:
    """Bring model and optimiser to where a checkpoint left them.

    Args:
        folder: Of the checkpoint.
        model: Gets its weights.
        optimiser: Gets its memory.
        recipe: Refused where it is not the one of the checkpoint.
        hands: Device, processes and threads that go on; other ones than before are worth a warning.
    """
    found = read_checkpoint(folder)
    if found.training is None:
        raise InputError(f"{folder} holds weights only; training goes on from the folder 'last' of a run.")
    if changes := differences(recipe, found.config["recipe"]):
        raise ConfigError(
            f"{folder} was made with another recipe ({'; '.join(changes[:4])}). Resume with the same one, or start a "
            "new run with --output."
        )
    if hands != found.config.get("hands"):
        before = found.config.get("hands")
        _log.warning(
            "%s was computed with %s, now %s: results agree, but not to the last bit", folder, before, dict(hands)
        )
    load_weights(model, found.weights, source=str(folder))
    load_optimiser(model, optimiser, found.training.tensors, source=str(folder))
    try:
        return Progress(**found.training.values)
    except TypeError as error:
        raise InputError(f"{folder} was written by another version of somamba: {error}") from None


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
    """Undo `optimiser_tensors`, after names and shapes have been compared."""
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
