"""A checkpoint is a folder: weights, how they were made, and the SHA-256 of every file. No pickle, so no code.

    model.safetensors     weights
    config.yaml           full recipe, protocol, mask digest, commit and versions
    training.safetensors  optimiser, only if training is to go on
    training.json         step and running numbers, likewise
    README.md             card of released weights
    config.json           the same as config.yaml, for model hubs
    journal.jsonl         events of the training that made them
    SHA256SUMS            as ``sha256sum --check`` reads it

It is written and replaced whole (`somamba.durable`). Reading checks every byte before any is used, and before that
how much there is to read: a file is not longer than it declares, and config.yaml holds what it should.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import yaml  # type: ignore[import-untyped]
from safetensors import SafetensorError
from torch import Tensor, nn

from somamba.bounded_yaml import load_yaml
from somamba.durable import current, replace_file, replace_folder
from somamba.errors import InputError, StorageError
from somamba.inference.weights.adaptations import RECORD, wrong_adaptation
from somamba.inference.weights.tensor_file import DeclaredTensor, declared_tensors
from somamba.regular_files import read_regular

WEIGHTS, CONFIG, SUMS = "model.safetensors", "config.yaml", "SHA256SUMS"
TENSORS, VALUES = "training.safetensors", "training.json"
CARD, HUB_CONFIG, JOURNAL = "README.md", "config.json", "journal.jsonl"
PARTS = (WEIGHTS, CONFIG, TENSORS, VALUES)
RELEASED = (CARD, HUB_CONFIG, JOURNAL)
"""What released weights have besides, named in SHA256SUMS since these exist; older ones do not name them."""
MOST_BYTES = {CONFIG: 1 << 18, VALUES: 1 << 24, CARD: 1 << 24, HUB_CONFIG: 1 << 20, JOURNAL: 1 << 30}
"""Most bytes of a file that is read; those of tensors declare theirs."""
PREFIX = "hf:"
"""How the address of weights on a model hub begins (`somamba.inference.weights.hub`)."""
LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z.]+)")
TABLES = ("recipe", "validation", "code", "data", "hardware", "started_from", "annealed_from")
"""Entries of config.yaml that are tables; ``recipe`` holds more of them."""


@dataclass(frozen=True)
class TrainingState:
    """What training needs besides the weights to go on as if it had never stopped."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, texts, lists and tables of them: what JSON can hold exactly."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory, on the CPU."""

    weights: Mapping[str, Tensor]
    config: Mapping[str, Any]
    training: TrainingState | None = None


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the one that was in ``folder`` survives until the new one is complete.

    Raises:
        StorageError: the folder holds something else, which would be lost, or cannot be written.
    """
    check_replaceable(folder)
    files = {
        WEIGHTS: _to_bytes(checkpoint.weights),
        CONFIG: yaml.safe_dump(dict(checkpoint.config), sort_keys=False, allow_unicode=True).encode(),
    }
    if checkpoint.training is not None:
        files[TENSORS] = _to_bytes(checkpoint.training.tensors)
        files[VALUES] = json.dumps(checkpoint.training.values, indent=1, allow_nan=False).encode()
    replace_folder(folder, {**files, SUMS: _sums(files)})


def check_replaceable(folder: Path) -> None:
    """Refuse a folder that holds anything but a checkpoint: it would be replaced whole."""
    try:
        others = sorted({path.name for path in folder.iterdir()} - {*PARTS, *RELEASED, SUMS}) if folder.exists() else []
    except OSError as error:
        raise StorageError(f"{folder} cannot hold a checkpoint: {error.strerror}.") from None
    if others:
        raise StorageError(
            f"{folder} holds {others[0]!r}, so it is no checkpoint, and it is not replaced by one. Name another folder."
        )


def has_checkpoint(folder: Path) -> bool:
    """Tell whether there is a checkpoint to read."""
    return (current(folder) / SUMS).is_file()


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint and check every byte of it against its SHA-256."""
    files = _read_files(folder, (*PARTS, *RELEASED))
    config = _config(folder, files)
    try:
        weights = safetensors.torch.load(files[WEIGHTS])
        training = None
        if VALUES in files and TENSORS in files:
            training = TrainingState(safetensors.torch.load(files[TENSORS]), _values(files[VALUES]))
    except (SafetensorError, ValueError, RecursionError) as error:
        raise InputError(f"{folder} is not a checkpoint of somamba: {error}") from error
    return Checkpoint(weights, config, training)


def read_config(folder: Path) -> dict[str, Any]:
    """What a checkpoint says of itself, without reading its weights; checked against its SHA-256 as well."""
    return _config(folder, _read_files(folder, (CONFIG,)))


def declared_weights(folder: Path) -> dict[str, DeclaredTensor]:
    """What the file of the weights declares; neither is it read further, nor compared with its SHA-256."""
    try:
        return declared_tensors(current(folder) / WEIGHTS)
    except OSError as error:
        raise _damaged(folder, error) from None


def load_weights(
    model: nn.Module, weights: Mapping[str, Tensor], *, source: str, may_lack: Collection[str] = ()
) -> None:
    """Copy weights into a model, after name, shape and dtype of every one of them have been compared.

    Args:
        model: The model.
        weights: Its weights by name.
        source: Where they come from, for the message.
        may_lack: Names that may be missing; these weights of the model stay as they are.
    """
    own = model.state_dict()
    weights = {name: own[name] for name in may_lack} | dict(weights)
    wrong = [f"{name} is missing" for name in own if name not in weights]
    wrong += [f"{name} is not part of the model" for name in weights if name not in own]
    for name in own.keys() & weights.keys():
        mine, theirs = own[name], weights[name]
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            wrong.append(f"{name} must be {_kind(mine)}, it is {_kind(theirs)}")
    if wrong:
        raise InputError(f"{source} does not fit the model: {'; '.join(sorted(wrong)[:3])} ({len(wrong)} in all).")
    model.load_state_dict(weights)


def weights_digest(weights: Mapping[str, Tensor]) -> str:
    """First digits of the SHA-256 of the weights; the same for the same numbers under the same names."""
    return hashlib.sha256(_to_bytes(weights)).hexdigest()[:16] if weights else ""


def seal(folder: Path) -> None:
    """Name the card and the journal that were put into the folder of a checkpoint in its SHA256SUMS."""
    files = _read_files(folder, (*PARTS, *RELEASED), renewed=RELEASED)
    replace_file(folder / SUMS, _sums(files))


def released_files(folder: Path) -> dict[str, bytes]:
    """The files of a checkpoint as a hub gets them: no optimiser, config.json beside config.yaml, all digests new."""
    files = _read_files(folder, (WEIGHTS, CONFIG), renewed=(CARD, JOURNAL))
    try:
        files[HUB_CONFIG] = hub_config(_config(folder, files))
    except ValueError as error:
        raise InputError(f"{folder / CONFIG} cannot be written as JSON: {error}.") from None
    return {**files, SUMS: _sums(files)}


def hub_config(config: Mapping[str, Any]) -> bytes:
    """What config.json holds: config.yaml in the language of hubs."""
    return json.dumps(config, indent=2, allow_nan=False, default=str).encode() + b"\n"


def named_in_sums(sums: bytes) -> dict[str, str]:
    """The SHA-256 of every file that the content of a SHA256SUMS names.

    Raises:
        ValueError: it is not the list of the files of a checkpoint.
    """
    found = [LINE.fullmatch(line) for line in sums.decode("ascii", errors="replace").split("\n")[:-1]]
    digests = {match[2]: match[1] for match in found if match}
    if len(digests) != len(found) or not {WEIGHTS, CONFIG} <= digests.keys() <= {*PARTS, *RELEASED}:
        raise ValueError(f"{SUMS} must name {WEIGHTS} and {CONFIG}, each with its SHA-256")
    return digests


def _values(content: bytes) -> dict[str, Any]:
    values = json.loads(content)
    if not isinstance(values, dict):
        raise ValueError(f"{VALUES} must hold a table, it holds {type(values).__name__}")
    return values


def _config(folder: Path, files: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        config = load_yaml(files[CONFIG])
    except yaml.YAMLError as error:
        raise InputError(f"{folder} is not a checkpoint of somamba: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"{folder / CONFIG} must hold a table of settings, it holds {type(config).__name__}.")
    _check_entries(config, folder / CONFIG)
    return config


def _check_entries(config: Mapping[str, Any], source: Path) -> None:
    """Refuse entries of another kind than those that a training writes; any may be missing."""
    recipe = config.get("recipe")
    recipe = recipe if isinstance(recipe, Mapping) else {}
    tables = {name: config.get(name) for name in TABLES}
    tables |= {f"recipe.{name}": recipe.get(name) for name in ("network", "data", "optimiser", "machine")}
    texts = {"protocol": config.get("protocol"), "recipe.model": recipe.get("model")}
    wrong = [f"{name} must be a table" for name, value in tables.items() if not isinstance(value, Mapping | None)]
    wrong += [f"{name} must be a text" for name, value in texts.items() if not isinstance(value, str | None)]
    for name, value, least in (
        ("step", config.get("step"), 0),
        ("steps_per_epoch", config.get("steps_per_epoch"), 1),
        ("recipe.seed", recipe.get("seed"), 0),
    ):
        if value is not None and (type(value) is not int or not least <= value < 2**63):
            wrong.append(f"{name} must be a whole number of at least {least}")
    started = config.get("started_from")
    epochs = started.get("epochs") if isinstance(started, Mapping) else None
    if epochs is not None and not (type(epochs) in (int, float) and 0 <= epochs < 2**63):
        wrong.append("started_from.epochs must be a number of at least 0")
    wrong += wrong_adaptation(config[RECORD]) if RECORD in config else []
    if wrong:
        raise InputError(f"{source}: {wrong[0]}, so it was not written by a training of somamba.")


def _read_files(folder: Path, wanted: Sequence[str], *, renewed: Sequence[str] = ()) -> dict[str, bytes]:
    """The content of files of a checkpoint, checked against its SHA-256; those renewed are read as they are."""
    place = current(folder)
    if not (place / SUMS).is_file():
        raise InputError(
            f"{folder} is not a checkpoint: it has no {SUMS}. A checkpoint is a folder such as runs/x/best."
        )
    try:
        sums = read_regular(place / SUMS, most=10_000)
    except OSError as error:
        raise _damaged(folder, error) from None
    try:
        lines = {name: _line(digest, name) for name, digest in named_in_sums(sums).items()}
    except ValueError as error:
        raise InputError(f"{folder / SUMS} is damaged: {error}.") from None
    try:
        files = {name: _content(place / name) for name in lines if name in wanted and name not in renewed}
        added = {name: _content(place / name) for name in renewed if (place / name).exists()}
    except OSError as error:
        raise _damaged(folder, error) from None
    true = {name: _sums({name: data}) for name, data in files.items()}
    if b"".join((lines | true).values()) != sums:
        bad = [name for name, line in true.items() if line != lines[name]]
        raise InputError(
            f"{folder} is damaged: SHA-256 of {', '.join(bad) or SUMS} differs. Copy it again; if it was read while it "
            "was being written, try again."
        )
    return files | added


def _content(path: Path) -> bytes:
    if path.name in (WEIGHTS, TENSORS):
        declared_tensors(path)  # its size, before it takes memory
    return read_regular(path, most=MOST_BYTES.get(path.name))


def _damaged(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder} is damaged: {error.strerror}: {error.filename}")


def _sums(files: Mapping[str, bytes]) -> bytes:
    return b"".join(_line(hashlib.sha256(data).hexdigest(), name) for name, data in files.items())


def _line(digest: str, name: str) -> bytes:
    return f"{digest}  {name}\n".encode()


def _to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    # Cloned, because safetensors refuses two names that share memory, as tied weights do.
    return safetensors.torch.save(
        {name: t.detach().cpu().clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}
    )


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
