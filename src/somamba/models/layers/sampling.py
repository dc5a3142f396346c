"""Layers that depend on how a scan was sampled.

At their start they change nothing, so that weights of a network without them are a place to go on from.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.init import zeros_

from somamba.physics.channels import to_channels, to_complex
from somamba.physics.encoding import Weighting, coil_maps, encoding
from somamba.physics.fourier import ifft2c
from somamba.physics.held_out import sampled_mask
from somamba.physics.operator import LinearOperator
from somamba.shapes import Grid, Images, KSpace

HIDDEN = 16
"""Width of the hidden layers of each learned function."""
COARSE = 8
"""Maps are smooth: they are corrected on a grid of one point for so many pixels along each axis."""
NEIGHBOURS = 15
"""Density is the share of so many neighbouring columns, or rows and columns, that were acquired."""


class Neutral(nn.Module):
    """A layer that changes nothing at its start: weights from before it was there may lack its own."""


def neutral_names(model: nn.Module) -> set[str]:
    """The names of the weights of all neutral layers of a model."""
    layers = [(name, part) for name, part in model.named_modules() if isinstance(part, Neutral)]
    return {f"{name}.{own}" for name, part in layers for own in part.state_dict()}


class _Function(nn.Module):
    """A learned function of a few numbers, with one hidden layer; zero at its start."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, HIDDEN)
        self.output = nn.Linear(HIDDEN, outputs)
        zeros_(self.output.weight)
        zeros_(self.output.bias)

    def forward(self, numbers: Tensor) -> Tensor:
        """The values at some numbers, which lie on the last axis."""
        return self.output(F.silu(self.hidden(numbers.to(self.hidden.weight))))


class AccelerationModulation(Neutral):
    """Scales and shifts features by learned functions of the acceleration."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.function = _Function(1, 2 * channels)

    def forward(self, features: Grid, A: LinearOperator) -> Grid:
        """Features for the acceleration of ``A``."""
        scale, shift = self.function(_doublings(sampled_mask(A)))[:, None, None].chunk(2, dim=-1)
        return features * (1 + scale) + shift


class SampleWeights(Neutral):
    """Weighs samples in data consistency: a learned function of where they lie and how dense they are there."""

    def __init__(self) -> None:
        super().__init__()
        self.function = _Function(3, 1)

    def forward(self, y: KSpace, A: LinearOperator) -> tuple[KSpace, LinearOperator]:
        """The measurements and their operator, both times the root of the weights."""
        with torch.autocast(y.device.type, enabled=False):
            root = torch.exp(self.function(sample_facts(sampled_mask(A)))[..., 0] / 2)
            weighting = Weighting(root)
            return weighting(y), weighting @ A


class MapRefinement(Neutral):
    """Corrects coil maps by what they leave unexplained: a few convolutions at low resolution, the same for all coils.

    They see each map and the direction in which it would explain more of the measurements of the present image. What of
    the correction lies along the maps themselves would only change the image, so it is left out; the sum of squares
    stays 1.
    """

    def __init__(self) -> None:
        super().__init__()
        last = nn.Conv2d(HIDDEN, 2, 3, padding=1)
        zeros_(last.weight)
        zeros_(cast("Tensor", last.bias))
        self.layers = nn.Sequential(
            nn.Conv2d(4, HIDDEN, 3, padding=1), nn.SiLU(),
            nn.Conv2d(HIDDEN, HIDDEN, 3, padding=1), nn.SiLU(),
            last,
        )  # fmt: skip

    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> LinearOperator:
        """The operator with corrected maps; the same one if every coil is on its own.

        Args:
            x: The image.
            y: The measurements.
            A: How they were measured.
        """
        maps = coil_maps(A)
        if maps is None:
            return A
        with torch.autocast(y.device.type, enabled=False):
            brightness = x.abs().square().mean(dim=(1, 2, 3), keepdim=True).clamp(min=1e-12)
            direction = ifft2c(y - A(x)) * x.conj() / brightness
            seen = torch.stack([maps.expand_as(direction), direction], dim=2).flatten(0, 1)
            size = -(-x.shape[-2] // COARSE), -(-x.shape[-1] // COARSE)
            coarse = self.layers(F.adaptive_avg_pool2d(to_channels(seen), size))
            change = to_complex(F.interpolate(coarse, size=x.shape[-2:], mode="bilinear")).view_as(direction)
            change = torch.where(maps != 0, change, 0)
            change = change - maps * (maps.conj() * change).sum(dim=1, keepdim=True)
            length = (1 + change.abs().square().sum(dim=1, keepdim=True)).sqrt()
            return encoding(sampled_mask(A), (maps + change) / length)


def sample_facts(mask: Tensor) -> Tensor:
    """What the weight of a sample depends on: distance from the centre, density around it, doublings of acceleration.

    Returns:
        (masks, 1, 1 or y, x, 3). The distance is 1 at the middle of an edge; rows do not count if whole columns were
        acquired, because all of them are alike.
    """
    numbers = mask.float()
    places = [(torch.arange(n, device=mask.device) - n // 2) / max(1, n // 2) for n in mask.shape[-2:]]
    rows = places[0] if mask.shape[-2] > 1 else torch.zeros(1, device=mask.device)
    distance = torch.hypot(rows[:, None], places[1][None]).expand_as(numbers)
    window = (1 if mask.shape[-2] == 1 else NEIGHBOURS, NEIGHBOURS)
    padding = (window[0] // 2, window[1] // 2)
    density = F.avg_pool2d(numbers, window, stride=1, padding=padding, count_include_pad=False)
    doublings = _doublings(mask)[..., None, None].expand_as(numbers)
    return torch.stack([distance, density, doublings], dim=-1)


def _doublings(mask: Tensor) -> Tensor:
    """The binary logarithm of the acceleration of each mask, (masks, 1)."""
    return -mask.float().mean(dim=(1, 2, 3)).log2()[:, None]
