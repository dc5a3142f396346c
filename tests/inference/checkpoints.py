"""Checkpoints of a tiny network with random weights, for tests of what is done with them."""

from dataclasses import replace
from pathlib import Path

from models.small import SMALL, perturb
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.inference.weights.trained import Trained, open_model
from somamba.models.zoo import MODELS
from somamba.settings import to_plain


def save_tiny(
    folder: Path, protocol: str = "raw", *, model: str = "so_mamba", dataset: str = "acdc", **sizes: int
) -> Path:
    """Save a variant of SO-Mamba of a few thousand weights, none of them where it started."""
    network = replace(SMALL, routes=MODELS[model].config.routes, **sizes)
    recipe = {"model": model, "network": to_plain(network), "data": {"dataset": dataset}, "seed": 0}
    config = {"recipe": recipe, "protocol": protocol, "step": 3, "steps_per_epoch": 3}
    save_checkpoint(folder, Checkpoint(perturb(MODELS[model].build(network)).state_dict(), config))
    return folder


def tiny(folder: Path, protocol: str = "raw", *, coils: int = 1) -> Trained:
    """The same, opened."""
    return open_model(str(save_tiny(folder / protocol, protocol, coils=coils)))
