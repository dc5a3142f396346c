"""A model ready for use: weights that come with the package, a checkpoint, or a model that has nothing to learn."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from somamba.data.config import DataConfig
from somamba.errors import InputError
from somamba.inference.weights.adaptations import RECORD
from somamba.inference.weights.checkpoint import (
    PREFIX,
    Checkpoint,
    declared_weights,
    has_checkpoint,
    load_weights,
    read_checkpoint,
    read_config,
    save_checkpoint,
    weights_digest,
)
from somamba.inference.weights.tensor_file import DeclaredTensor
from somamba.models.base import Reconstructor
from somamba.models.bounded import NetworkSizeError, at_most
from somamba.models.refined import RefinementConfig
from somamba.models.zoo import MODELS, Entry
from somamba.registry import did_you_mean
from somamba.settings import from_plain

FOLDER = Path(__file__).parents[2] / "bundled_weights"
DEFAULT = "brain_raw"
"""The weights that ``somamba reconstruct`` takes by default."""


@dataclass(frozen=True)
class Trained:
    """A model with its weights, in evaluation mode on the CPU, and how it came about."""

    name: str
    """The name of the model in `MODELS`."""
    model: Reconstructor
    weights: str = ""
    """Digest of the weights, empty if there are none."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the checkpoint recorded; empty for a model by name."""
    source: str = ""
    """The name of the weights, or the folder they were read from, as it was given."""

    @property
    def protocol(self) -> str | None:
        """The protocol it was trained for; None if it was not trained."""
        return self.config.get("protocol")

    @property
    def coils(self) -> int:
        """How many coils it takes side by side; 1 if they are merged by their maps, and for one coil."""
        recipe = self.config.get("recipe") or {}
        return int((recipe.get("network") or {}).get("coils", 1))

    @property
    def saw_whole_columns(self) -> bool:
        """Whether it was trained on measurements of which whole columns were acquired, and on no others."""
        data = (self.config.get("recipe") or {}).get("data") or {}
        return self.protocol == "raw" and "radial" not in str(data.get("mask"))

    @property
    def parameters(self) -> int:
        """The number of trainable parameters."""
        return self.model.parameter_count

    @property
    def epochs(self) -> float:
        """The number of passes over the training data; 0 if it was not trained."""
        return epochs_of(self.config, source=self.source) if self.config else 0.0

    @property
    def seed(self) -> int:
        """The seed of the training; 0 if it was not trained."""
        return int((self.config.get("recipe") or {}).get("seed", 0))

    def data(self, source: str) -> DataConfig | None:
        """The data it was trained on, with the places of another machine left to their defaults."""
        data = (self.config.get("recipe") or {}).get("data")
        return None if data is None else from_plain(DataConfig(), data, source=f"{source}, data")


def refinement_config(trained: Trained) -> RefinementConfig:
    """How the last step is chosen behind a network; one that was adapted has not seen the first set of lines only."""
    return RefinementConfig(sets=1) if RECORD in trained.config else RefinementConfig()


def epochs_of(config: Mapping[str, Any], *, source: str) -> float:
    """The number of passes over training data that config.yaml of a checkpoint records.

    Those of the weights that the training started from count too; before these were recorded, they are not known.
    """
    step, steps_per_epoch = config.get("step"), config.get("steps_per_epoch")
    if step is None or steps_per_epoch is None:
        raise InputError(f"{source}: config.yaml must say how long the training was, in step and steps_per_epoch.")
    return float(step / steps_per_epoch) + float((config.get("started_from") or {}).get("epochs") or 0.0)


def _build(entry: Entry, network: Any, declared: Mapping[str, DeclaredTensor], *, source: str) -> Reconstructor:
    """Build the network of a checkpoint; it is refused as soon as it differs in size from the weights declared."""
    numbers = sum(tensor.numbers for tensor in declared.values())
    try:
        with at_most(numbers, len(declared), source=source):
            model = entry.build(network)
    except NetworkSizeError:
        raise InputError(
            f"{source} does not fit the model: config.yaml asks for a larger network than its {len(declared):,} "
            f"tensors of {numbers:,} weights."
        ) from None
    own = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    if other := sorted(own.items() ^ {name: tensor.shape for name, tensor in declared.items()}.items()):
        raise InputError(
            f"{source} does not fit the model: {other[0][0]} is missing, not part of it, or of another shape "
            f"({len({name for name, _ in other})} differ in all)."
        )
    return model


def save_trained(folder: Path, trained: Trained) -> None:
    """Write a model as a checkpoint that `open_model` reads; what was in ``folder`` survives until it is complete."""
    save_checkpoint(folder, Checkpoint(trained.model.state_dict(), trained.config))


def open_model(source: str) -> Trained:
    """Open a checkpoint folder, or build a model that has no weights by its name (``zero_filled``).

    Args:
        source: The folder, the name, or the address of weights on a hub (``hf:owner/name@revision``).

    Raises:
        InputError: no checkpoint is there, it is damaged, or the model named has weights to learn.
    """
    folder = _fetched(source) if source.startswith(PREFIX) else Path(source)
    if has_checkpoint(folder):
        recipe = read_config(folder).get("recipe") or {}
        if recipe.get("model") is None:
            raise InputError(f"{source}: config.yaml does not say which model the weights belong to.")
        entry = MODELS[recipe["model"]]
        network = from_plain(entry.config, recipe.get("network") or {}, source=f"{source}, network")
        model = _build(entry, network, declared_weights(folder), source=source)
        checkpoint = read_checkpoint(folder)
        load_weights(model, checkpoint.weights, source=source)
        return Trained(recipe["model"], model.eval(), weights_digest(checkpoint.weights), checkpoint.config, source)
    if source not in MODELS:
        hint = "" if Path(source).exists() else did_you_mean(source, MODELS)
        raise InputError(
            f"{source} is neither a checkpoint folder, such as runs/x/best, nor the name of a model.{hint}"
        )
    model = MODELS[source].build(MODELS[source].config)
    if model.parameter_count:
        raise InputError(f"{source!r} has weights to learn: give the folder of a checkpoint, such as runs/x/best.")
    return Trained(source, model.eval(), source=source)


def _fetched(address: str) -> Path:
    from somamba.inference.weights.hub import fetch  # most weights are on this disk, and need nothing of HTTP

    return fetch(address)


def bundled_weights(folder: Path = FOLDER) -> dict[str, Path]:
    """The folders of the bundled weights by name."""
    if not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if has_checkpoint(path)}


def earlier_edition(source: str, folder: Path = FOLDER) -> Path | None:
    """The folder of an edition that is no longer bundled, such as ``brain_raw@1``; None if that is no such name.

    Args:
        source: A name of bundled weights, ``@`` and the number of the edition.
        folder: Where the bundled weights lie.

    Raises:
        InputError: it is such a name, and a checkout of the repository, which keeps these weights, is not there.
    """
    name, _, number = source.partition("@")
    if not number.isdecimal() or name not in bundled_weights(folder):
        return None
    edition = folder.parents[2] / "weights" / f"{name}_{number}"
    if not has_checkpoint(edition):
        raise InputError(
            f"There is no edition {number} of {name!r} here. Earlier ones are in weights/ of the repository, not in "
            f"an installed package: give the folder of a copy, such as --weights weights/{name}_{number}."
        )
    return edition


def open_weights(source: str = DEFAULT, folder: Path = FOLDER) -> Trained:
    """Open bundled weights by name, weights of a hub, a checkpoint by its folder, or a model without weights by name.

    Args:
        source: ``brain_raw``, ``brain_raw@1`` for an earlier edition, ``hf:owner/name@revision``, ``runs/x/best``,
            ``zero_filled``. Bundled weights come first; a folder of the same name is reached by ``./brain_raw``.
        folder: Where the bundled weights lie.

    Raises:
        InputError: nothing has this name, or what has it is damaged.
    """
    bundled = bundled_weights(folder)
    if source in bundled:
        return replace(open_model(str(bundled[source])), source=source)
    if (edition := earlier_edition(source, folder)) is not None:
        return replace(open_model(str(edition)), source=source)
    if source == DEFAULT and not Path(source).exists():
        raise InputError(
            f"No weights called {source!r} are bundled with this version of somamba ({_known(bundled)}). Give the "
            "folder of a checkpoint, such as --weights runs/x/best, or --weights zero_filled for no network at all."
        )
    try:
        return open_model(source)
    except InputError as error:
        if has_checkpoint(Path(source)) or source.startswith(PREFIX):
            raise
        hint = did_you_mean(source, bundled)
        raise InputError(f"{error}{hint} Bundled weights: {_known(bundled)}.") from None


def _known(bundled: dict[str, Path]) -> str:
    return ", ".join(bundled) or "there are none"
