"""Weights on this machine: which there are, what they say of themselves, whether they are intact, folders for a hub."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from somamba.durable import current, replace_folder
from somamba.errors import InputError
from somamba.inference.weights.cards import check_card, read_card
from somamba.inference.weights.checkpoint import (
    HUB_CONFIG,
    PREFIX,
    WEIGHTS,
    has_checkpoint,
    hub_config,
    read_config,
    released_files,
)
from somamba.inference.weights.hub import fetch, hub_cache
from somamba.inference.weights.trained import FOLDER, Trained, bundled_weights, earlier_edition, open_model
from somamba.registry import did_you_mean
from somamba.regular_files import read_regular


@dataclass(frozen=True)
class Facts:
    """What weights say of themselves, read without building their network."""

    source: str
    """The name under which they are opened."""
    model: str
    parameters: int
    dataset: str
    protocol: str
    licence: str
    size: int
    """Bytes of the file of weights."""


def fetched_weights() -> dict[str, Path]:
    """The folders of the weights that were fetched from a hub, by their addresses."""
    found = {}
    for path in sorted(hub_cache().glob("[!.]*/[!.]*/[!.]*")):
        if has_checkpoint(path):
            found[f"{PREFIX}{path.parts[-3]}/{path.parts[-2]}@{path.parts[-1]}"] = path
    return found


def weights_folder(source: str, folder: Path = FOLDER) -> Path:
    """The folder of weights by name: bundled, on a hub (fetched now if need be), or a folder itself.

    Args:
        source: ``brain_raw``, ``hf:owner/name@revision`` or ``runs/x/best``.
        folder: Where the bundled weights lie.

    Raises:
        InputError: nothing has this name.
    """
    bundled = bundled_weights(folder)
    if source in bundled:
        return bundled[source]
    if (edition := earlier_edition(source, folder)) is not None:
        return edition
    if source.startswith(PREFIX):
        return fetch(source)
    if has_checkpoint(Path(source)):
        return Path(source)
    raise InputError(
        f"No weights are called {source!r}, and there is no folder with a checkpoint.{did_you_mean(source, bundled)} "
        f"Bundled weights: {', '.join(bundled) or 'there are none'}."
    )


def describe_weights(source: str, folder: Path) -> Facts:
    """What weights say of themselves.

    Args:
        source: The name under which they are opened.
        folder: The folder that holds them.
    """
    config, card = read_config(folder), read_card(current(folder))
    recipe, parameters = config.get("recipe") or {}, config.get("parameters")
    return Facts(
        source=source,
        model=str(recipe.get("model", "")),
        parameters=parameters if isinstance(parameters, int) else 0,
        dataset=str((recipe.get("data") or {}).get("dataset", "")),
        protocol=str(config.get("protocol", "")),
        licence=card.licence if card else "",
        size=(current(folder) / WEIGHTS).stat().st_size,
    )


def verify_weights(source: str) -> Trained:
    """Compare every file of weights with its SHA-256, build their network and load them into it.

    Raises:
        InputError: a file is missing or damaged, or the weights do not fit; it says which.
    """
    folder = weights_folder(source)
    trained = replace(open_model(str(folder)), source=source)
    read_card(folder)
    path = current(folder) / HUB_CONFIG
    if path.exists() and json.loads(read_regular(path)) != json.loads(hub_config(trained.config)):
        raise InputError(f"{path} does not say the same as config.yaml. `somamba weights export` writes it anew.")
    return trained


def export_weights(source: str, folder: Path) -> list[str]:
    """Write weights as a hub expects them, into a new folder that can be uploaded as it is.

    Args:
        source: Bundled weights by name, the address of weights on a hub, or the folder of a checkpoint.
        folder: The folder to make.

    Returns:
        The names of its files.

    Raises:
        InputError: the weights are damaged, their card is missing or incomplete, or the folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there and not empty; nothing in it is replaced. Name a new folder.")
    verify_weights(source)
    place = weights_folder(source)
    card = check_card(place)
    files = released_files(place)
    for name in card.pictures:
        try:
            files[name] = read_regular(place / name)
        except OSError as error:
            raise InputError(f"The card shows {name}, which cannot be read: {error.strerror}.") from None
    replace_folder(folder, files)
    return sorted(files)
