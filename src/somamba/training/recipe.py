"""Everything that decides a training, in one frozen record: the YAML file, the command line and the checkpoint agree.

A recipe states what differs from the defaults here, which are the paper's if it states one. ``network`` depends
on ``model``: its keys are the fields of that model's config.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from jsonargparse import ArgumentParser

from somamba.bounded_yaml import MOST_BYTES, load_yaml
from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.models.zoo import MODELS
from somamba.options import LARGEST_WHOLE, check_between, check_numbers, check_positive, modern
from somamba.regular_files import read_regular
from somamba.settings import add_config, check_tables, flat, parser_for, refusal, to_plain
from somamba.training.machine import LARGEST_BATCH, Machine

# Where the data lie and how slices are kept concerns one machine, not a checkpoint.
LOCAL = ("path", "cache")


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """AdamW, the schedule of its learning rate, and the moving average of the weights."""

    learning_rate: float = 8e-4
    """Rate at the end of warm-up."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """What follows the warm-up. ``cosine`` is the paper's; with ``constant`` a run may grow longer at any time:
    ``epochs`` may change on resume, and ``--anneal`` makes weights for use from it."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Decay of the two running moments. The paper is silent; torch's defaults."""
    weight_decay: float = 0.01
    """Decoupled decay. The paper is silent; torch's default."""
    warmup_epochs: float = 5.0
    """Epochs of linear warm-up; may be a fraction."""
    decay_epochs: float = 0.0
    """``constant`` only: over the last so many epochs the rate falls to ``final_rate`` as 1 - sqrt."""
    final_rate: float = 0.0
    """Rate at the end of the cosine, or of the decay."""
    ema: float = 0.0
    """Decay of the exponential moving average of the weights, such as 0.999; the average is what is validated and kept
    as best. 0 turns it off."""
    clip_norm: float = 1.0
    """Gradients longer than this are shortened to it. The paper is silent."""
    max_skips: int = 10
    """Training stops after so many steps in a row whose gradient is not finite; each is skipped and counted."""

    def __post_init__(self) -> None:
        check_positive(self, "optimiser.", "learning_rate", "clip_norm", "max_skips")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimiser.betas={self.betas} must lie between 0 and below 1, such as (0.9, 0.999).")
        if not (self.warmup_epochs >= 0 and self.weight_decay >= 0 and 0 <= self.final_rate <= self.learning_rate):
            raise ConfigError(
                "optimiser: warmup_epochs and weight_decay must not be negative, and final_rate must lie between 0 and "
                "learning_rate."
            )
        if not 0 <= self.ema < 1:
            raise ConfigError(f"optimiser.ema={self.ema:g} must be 0 (no average) or a decay below 1, such as 0.999.")
        if not self.decay_epochs >= 0 or (self.decay_epochs > 0 and self.schedule != "constant"):
            raise ConfigError(
                f"optimiser.decay_epochs={self.decay_epochs:g} needs schedule: constant and must not be negative."
            )


@dataclass(frozen=True, kw_only=True)
class Anneal:
    """The end of a run that could go on: its rate decays to zero, which makes weights for use."""

    step: int
    """Steps done when the decay begins."""
    epochs: float
    """Length of the decay; may be a fraction."""

    def __post_init__(self) -> None:
        if not (self.step >= 0 and 0 < self.epochs < math.inf):
            raise ConfigError(f"anneal: step={self.step} must not be negative, epochs={self.epochs:g} be positive.")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training: model, data, optimiser and budget."""

    network: Any
    """Config of the model; its class is that of ``MODELS[model]``."""
    model: str = "so_mamba"
    """Name of the model (`somamba models` lists them)."""
    data: DataConfig = field(default_factory=DataConfig)
    """Dataset, protocol and mask."""
    optimiser: Optimiser = field(default_factory=Optimiser)
    """AdamW and its schedule."""
    loss: Literal["l1", "l2", "l1_ssim"] = "l1"
    """Distance between the magnitude of the reconstruction and the target, mean over pixels; ``l1_ssim`` adds a tenth
    of 1 - SSIM to that of ``l1``."""
    epochs: int = 100
    """Passes over the training slices."""
    minutes: float | None = None
    """Train for so many minutes of steps, however many that are; what counts epochs then counts shares of this."""
    batch_size: int = 8
    """Slices of one step, over all processes. The paper is silent."""
    mirror: bool = False
    """Mirror each training slice with probability 1/2; protocol ``magnitude`` only. The paper names no augmentation."""
    turn: bool = False
    """Turn training slices by a random multiple of 90 degrees, or of 180 if they are not square; likewise."""
    tilt: float | int = 0.0
    """The probability that a training slice is tilted by up to 15 degrees, zoomed and shifted a little; likewise."""
    bf16: bool = False
    """Layers in bfloat16 by autocast; FFT, data consistency and scan stay in float32."""
    seed: int = 0
    """Seed of the initial weights, of the order of slices and of what the model draws."""
    validate_every: float = 1.0
    """Epochs between validations; may be a fraction. The last step is always validated."""
    validation_cases: int | None = None
    """Validate on so many cases of the validation split, evenly spread; by default on all."""
    anneal: Anneal | None = None
    """Set by ``somamba train RUN --anneal EPOCHS``: where the decay of a run began."""
    machine: Machine = field(default_factory=Machine)
    """Device, threads, memory and time."""

    @property
    def open_ended(self) -> bool:
        """Whether ``epochs`` may change on resume: no step before the end depends on it."""
        return (
            self.optimiser.schedule == "constant"
            and self.optimiser.decay_epochs == 0
            and self.minutes is None
            and self.anneal is None
        )

    def __post_init__(self) -> None:
        wanted = type(MODELS[self.model].config)
        if not isinstance(self.network, wanted):
            raise ConfigError(f"model={self.model!r} needs network: {wanted.__name__}, got {self.network!r}.")
        check_positive(self, "", "epochs", "minutes", "batch_size", "validate_every", "validation_cases")
        check_between(self, epochs=(1, 10**6), batch_size=(1, LARGEST_BATCH), seed=(0, LARGEST_WHOLE), tilt=(0, 1))
        if not self.optimiser.warmup_epochs < self.epochs:
            raise ConfigError(
                f"optimiser.warmup_epochs={self.optimiser.warmup_epochs:g} leaves nothing of epochs={self.epochs}; "
                "lower the one or raise the other."
            )
        if not self.optimiser.warmup_epochs + self.optimiser.decay_epochs <= self.epochs:
            raise ConfigError(
                f"optimiser.warmup_epochs={self.optimiser.warmup_epochs:g} and decay_epochs="
                f"{self.optimiser.decay_epochs:g} together are longer than epochs={self.epochs}."
            )
        if (self.mirror or self.turn or self.tilt) and self.data.protocol != "magnitude":
            raise ConfigError(
                "mirror, turn and tilt belong to protocol 'magnitude'; 'raw' has data.augmentation.anatomy."
            )
        if self.anneal is not None and self.minutes is not None:
            raise ConfigError("A run under a budget of minutes cannot be annealed: its rate follows the clock.")


def recipe_parser(model: str) -> ArgumentParser:
    """The options of a recipe for one model: ``--config FILE``, and a dotted one for every field."""
    parser = parser_for("somamba train RECIPE", usage=argparse.SUPPRESS)
    parser.add_argument("--config", action="config", help=argparse.SUPPRESS)
    parser.add_class_arguments(Recipe, skip={"network"})
    add_config(parser, MODELS[model].config, "network")
    return parser


def read_recipe(path: Path, overrides: Sequence[str] = (), *, changes: Sequence[Mapping[str, Any]] = ()) -> Recipe:
    """Read a recipe from a YAML file.

    Args:
        path: The file.
        overrides: Options such as ``--optimiser.learning_rate=1e-4``; they come last.
        changes: Tables like that of the file, whose values replace the file's, those of later ones first.
    """
    table = read_yaml(path)
    if {"base", "runs"} <= table.keys():
        raise ConfigError(f"{path} is a grid of several trainings, not a recipe. Train it by: somamba sweep {path}")
    model = asked_model(path, overrides, changes)
    return _parsed(model, [table, *changes], overrides, source=str(path))


def asked_model(path: Path, overrides: Sequence[str] = (), changes: Sequence[Mapping[str, Any]] = ()) -> str:
    """The name of the model that is asked for: its fields must be known before the rest is parsed.

    Args:
        path: The recipe.
        overrides: Options of the command line.
        changes: Tables whose values replace the file's.
    """
    first = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    first.add_argument("--model")
    try:
        found, _ = first.parse_known_args(list(overrides))
    except argparse.ArgumentError as error:
        raise ConfigError(str(error)) from None
    named = (table["model"] for table in reversed(changes) if table.get("model"))
    return str(found.model or next(named, None) or read_yaml(path).get("model") or Recipe.model)


def recipe_from_plain(values: Mapping[str, Any], overrides: Sequence[str] = (), *, source: str) -> Recipe:
    """A recipe from the values a checkpoint recorded.

    Args:
        values: The record.
        overrides: Options such as ``--machine.threads=2``.
        source: Where the record comes from, for messages.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: the recipe must be a table of fields, got {values!r:.80}.")
    return _parsed(str(values.get("model", Recipe.model)), [values], overrides, source=source)


def _parsed(model: str, tables: Sequence[Mapping[str, Any]], overrides: Sequence[str], *, source: str) -> Recipe:
    """A recipe for one model from tables, of which later ones come first, and options, which come before all."""
    parser = recipe_parser(model)
    tables = [modern(Recipe(network=MODELS[model].config, model=model), table) for table in tables]
    for table in tables:
        # The parser would open a file that is named by ``config``, or by a text in the place of a table.
        check_tables(Recipe, {**table, "network": None}, source=source)
        check_tables(type(MODELS[model].config), table.get("network") or {}, source=source, prefix="network.")
        if "config" in table:
            raise ConfigError(f"{source}: There is no field 'config'.")
    if any(word.partition("=")[0] == "--config" for word in overrides):
        raise ConfigError(f"{source}: There is no option --config; the recipe is the first argument.")
    arguments = [*(word for table in tables if table for word in ("--config", yaml.safe_dump(table))), *overrides]
    try:
        values = vars(parser.instantiate(parser.parse_args(arguments)))
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        raise refusal(source, error, parser) from None
    recipe = Recipe(**{name: value for name, value in values.items() if name != "config"})
    try:
        check_numbers(recipe)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return recipe


def recorded(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a checkpoint records it: in full, without the places of one machine."""
    values = to_plain(recipe)
    return {**values, "data": {name: value for name, value in values["data"].items() if name not in LOCAL}}


def differences(recipe: Recipe, record: Mapping[str, Any], *, source: str, may_grow: bool = False) -> list[str]:
    """The fields in which a recipe would compute something else than the recorded one did; ``machine`` may differ.

    Args:
        recipe: The recipe at hand.
        record: What a checkpoint recorded; a field that did not exist then has its default.
        source: Where the record comes from, for messages.
        may_grow: Whether ``epochs`` may differ if the recipe is open-ended.
    """
    mine, theirs = flat(recorded(recipe)), flat(recorded(recipe_from_plain(record, source=source)))
    names = sorted(name for name in mine.keys() | theirs.keys() if not name.startswith("machine."))
    if may_grow and recipe.open_ended:
        names.remove("epochs")
    return [f"{n}: {theirs.get(n)} -> {mine.get(n)}" for n in names if mine.get(n) != theirs.get(n)]


def read_yaml(path: Path) -> dict[str, Any]:
    """The table of settings that a YAML file holds."""
    try:
        values = load_yaml(read_regular(path, most=MOST_BYTES))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as a recipe: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold a table of settings, it holds {type(values).__name__}.")
    return values
