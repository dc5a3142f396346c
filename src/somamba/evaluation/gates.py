"""What the gates of a learned residency became, read from the weights of a checkpoint; no network runs."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from somamba.errors import InputError
from somamba.inference.weights.checkpoint import read_checkpoint
from somamba.inference.weights.trained import epochs_of

GATE = re.compile(r"groups\.(\d+)\.units\.(\d+)\.block\.residency\.(gate|project\.weight|project\.bias)")


class Gates(NamedTuple):
    """The gates of every unit of one network."""

    method: str
    seed: int
    epochs: float
    units: tuple[tuple[int, int], ...]
    """Group and unit in the group, counted from 1, in the order in which they run."""
    values: Float[NDArray[np.float32], "units gates"]
    """One for each channel, or one for the unit; of a gate by token, the weights w of its linear function."""
    offsets: Float[NDArray[np.float32], " units"] | None
    """The constant b of a gate by token, None for the other kinds."""


def read_gates(folder: Path) -> Gates:
    """Read the gates of a checkpoint.

    Raises:
        InputError: no checkpoint is there, it is damaged, or its network has no learned residency.
    """
    checkpoint = read_checkpoint(folder)
    found: dict[tuple[int, int], dict[str, NDArray[np.float32]]] = {}
    for name, tensor in checkpoint.weights.items():
        if match := GATE.fullmatch(name):
            place = (int(match[1]) + 1, int(match[2]) + 1)
            found.setdefault(place, {})[match[3]] = tensor.float().flatten().numpy()
    recipe = checkpoint.config.get("recipe") or {}
    if not found:
        raise InputError(
            f"{folder} ({recipe.get('model', 'unknown model')}) has no learned residency, so there are no gates to "
            "show. Networks with gates are residency_channel, residency_token, residency_unit and so_mamba_adaptive."
        )
    units = tuple(sorted(found))
    by_token = "project.weight" in found[units[0]]
    return Gates(
        method=str(recipe.get("model")),
        seed=int(recipe.get("seed", 0)),
        epochs=epochs_of(checkpoint.config, source=str(folder)),
        units=units,
        values=np.stack([found[unit]["project.weight" if by_token else "gate"] for unit in units]),
        offsets=np.concatenate([found[unit]["project.bias"] for unit in units]) if by_token else None,
    )
