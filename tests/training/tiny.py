"""A training that takes a tenth of a second: synthetic ACDC files, a network of 150 weights that also draws numbers."""

from dataclasses import replace

import torch
from torch import nn

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.models.base import Reconstructor
from somamba.models.zoo import MODELS
from somamba.physics.channels import to_channels, to_complex
from somamba.runtime.processes import World
from somamba.training.loop import _claimed, train
from somamba.training.recipe import Machine, Optimiser, Recipe


class TinyNetwork(Reconstructor):
    """One residual block and data consistency; dropout makes it depend on the generator, the norm on buffers."""

    def __init__(self, dropout=0.2):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.GELU(), nn.BatchNorm2d(4), nn.Dropout(dropout), nn.Conv2d(4, 2, 1)
        )

    def forward(self, y, A):
        """Reconstruct."""
        x = A.adjoint(y)
        x = x + to_complex(self.block(to_channels(x)))
        return x + A.adjoint(y - A(x))


def small_network():
    """SO-Mamba itself, as small as it gets."""
    config = MODELS["so_mamba"].config
    return replace(config, groups=1, units=1, channels=16, d_model=8, mixer=replace(config.mixer, d_head=8))


def write_data(folder):
    """Four patients to train on, of whom the split carves two for validation: 8 slices each."""
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 2}, slices=4)
    return DataConfig(path=str(folder / "acdc"), cache=str(folder / "cache"), size=(16, 16))


def tiny_recipe(data, *, machine=None, **changes):
    """Two epochs of two steps, a checkpoint after every step."""
    machine = {"device": "cpu", "checkpoint_minutes": 1e-9} | (machine or {})
    defaults = {"epochs": 2, "batch_size": 4, "optimiser": Optimiser(warmup_epochs=0.5, learning_rate=0.01)}
    defaults |= {"network": MODELS["so_mamba"].config, "machine": Machine(**machine)}
    return Recipe(data=data, **(defaults | changes))


def run(recipe, folder, *, world=None, model=None, **options):
    """Train the tiny network from the seed of the recipe."""
    torch.manual_seed(recipe.seed)
    model = model or TinyNetwork()
    training, validation = open_slices(recipe.data, "train"), open_slices(recipe.data, "val")
    world = world or World()
    with _claimed(folder, world):
        return train(model, training, validation, recipe, folder, world=world, **options)


def sums(folder):
    """What a finished run left: the SHA-256 of every file of its checkpoints, and every name in its folder."""
    names = sorted(path.name for path in folder.iterdir())
    return names, *((folder / name / "SHA256SUMS").read_text() for name in ("last", "best"))
