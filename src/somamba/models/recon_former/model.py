"""ReconFormer: three recurrent units at three resolutions, run over and over with the same weights.

x  image        h  features that a unit carries from one iteration to the next
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.models.adapters import pad_to_multiple
from somamba.models.base import Reconstructor
from somamba.models.recon_former.block import Memories, ReconFormerBlock
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import CONSISTENCIES
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images

Channels = Float[Tensor, "batch channels y x"]


class Resize(nn.Module):
    """Nearest neighbour, by a ratio of whole numbers."""

    def __init__(self, numerator: int, denominator: int) -> None:
        super().__init__()
        self.numerator, self.denominator = numerator, denominator

    def forward(self, features: Tensor) -> Tensor:
        """Resize the last two axes."""
        height, width = (side * self.numerator // self.denominator for side in features.shape[-2:])
        return F.interpolate(features, size=(height, width))


class State(NamedTuple):
    """What a unit keeps for its next iteration."""

    features: Tensor
    memories: Memories | None


class RecurrentUnit(nn.Module):
    """``h_t = PReLU(encode(x) + block(h_{t-1}))``, decoded to an image; the first iteration has no block."""

    def __init__(
        self, channels: int, depth: int, config: ReconFormerConfig, encoder: nn.Module, decoder: nn.Module
    ) -> None:
        super().__init__()
        self.encode, self.decode = encoder, decoder
        self.block = ReconFormerBlock(channels, depth, config)
        self.activate = nn.PReLU()

    def forward(self, x: Channels, state: State | None) -> tuple[Channels, State]:
        """Return the next image and state."""
        height, width = x.shape[-2:]
        even = pad_to_multiple(x, 2).contiguous(memory_format=torch.channels_last)
        features, memories = self.encode(even), None
        if state is not None:
            carried, memories = self.block(state.features.permute(0, 2, 3, 1), state.memories)
            features = features + carried.permute(0, 3, 1, 2)
        features = self.activate(features)
        return self.decode(features)[..., :height, :width], State(features, memories)


def full_unit(
    channels: int, depth: int, config: ReconFormerConfig, *, kernel: int = 3, stride: int = 1
) -> RecurrentUnit:
    """The unit at the resolution of the image, or at a coarser one.

    Args:
        channels: The channels of the unit.
        depth: The number of its blocks.
        config: The config of the network.
        kernel: The width of the filters that change the resolution.
        stride: How many times coarser the features are.
    """
    images = 2 * config.coils
    encoder = nn.Sequential(
        nn.Conv2d(images, channels, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(channels, channels, kernel, stride=stride, padding=1),
    )
    decoder = nn.Sequential(
        nn.ConvTranspose2d(channels, channels, kernel, stride=stride, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(channels, images, 3, padding=1),
    )
    return RecurrentUnit(channels, depth, config, encoder, decoder)


def enlarged_unit(channels: int, depth: int, config: ReconFormerConfig) -> RecurrentUnit:
    """The unit at one and a half times the resolution.

    Args:
        channels: The channels of the unit.
        depth: The number of its blocks.
        config: The config of the network.
    """
    images = 2 * config.coils
    encoder = nn.Sequential(
        nn.Conv2d(images, channels, 3, padding=1),
        nn.ReLU(),
        Resize(3, 2),
        nn.Conv2d(channels, channels, 3, padding=1),
    )
    decoder = nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1),
        Resize(2, 3),
        nn.ReLU(),
        nn.Conv2d(channels, images, 3, padding=1),
    )
    return RecurrentUnit(channels, depth, config, encoder, decoder)


class Refinement(nn.Sequential):
    """Four convolutions that make one image out of those of the three units."""

    def __init__(self, images: int, channels: int) -> None:
        super().__init__(
            nn.Conv2d(3 * images, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.Conv2d(channels, images, 3, padding=1),
        )


class ReconFormer(Reconstructor):
    """A recurrent transformer that returns to the measurements four times in every iteration."""

    def __init__(self, config: ReconFormerConfig | None = None) -> None:
        super().__init__()
        self.config = config or ReconFormerConfig()
        self.coils = self.config.coils
        half_unit = partial(full_unit, kernel=4, stride=2)
        builders: tuple[Callable[[int, int, ReconFormerConfig], RecurrentUnit], ...]
        builders = (half_unit, full_unit, enlarged_unit)
        sizes = zip(builders, self.config.channels, self.config.depths, strict=True)
        self.units = nn.ModuleList(build(channels, depth, self.config) for build, channels, depth in sizes)
        self.refine = Refinement(2 * self.config.coils, self.config.channels[-1])
        self.consistency = CONSISTENCIES["auto"]()

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        """Start from the zero-filled image; every unit improves the image of the one before."""
        x = self.start(y, A)
        states: list[State | None] = [None] * len(self.units)
        for _ in range(self.config.iterations):
            images = []
            for i, unit in enumerate(self.units):
                image, states[i] = unit(to_channels(x), states[i])
                x = self.consistency(to_complex(image), y, A)
                images.append(to_channels(x))
            x = self.consistency(to_complex(self.refine(torch.cat(images, dim=1))), y, A)
        return x
