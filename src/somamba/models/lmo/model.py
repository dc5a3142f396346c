"""LMO: lift, blocks of convolution and Mamba between data consistencies of the features, project (Li et al. 2025).

v  features        x  image        y, A  measurements and their operator
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.models.layers.precision import full
from somamba.models.lmo.activation import FilteredLeakyReLU
from somamba.models.lmo.config import LMOConfig
from somamba.models.lmo.scanning import Scanning
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import CONSISTENCIES
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images

Feature = Float[Tensor, "batch channels y x"]


@dataclass(frozen=True, eq=False, repr=False)
class EachMap(LinearOperator):
    """``A`` for every feature map, as if it were the image; the coils of one map come before those of the next."""

    A: LinearOperator
    coils: int

    @override
    def __call__(self, x: Tensor) -> Tensor:
        return torch.cat([self.A(image) for image in x.split(1, dim=1)], dim=1)

    @override
    def adjoint(self, y: Tensor) -> Tensor:
        return torch.cat([self.A.adjoint(image) for image in y.split(self.coils, dim=1)], dim=1)

    @override
    def __repr__(self) -> str:
        return f"EachMap({self.A!r})"


def for_each_map(maps: int, y: Tensor, A: LinearOperator) -> tuple[Tensor, LinearOperator]:
    """Measurements and operator under which every one of ``maps`` features is an image of its own.

    Without sensitivity maps ``A`` takes each channel on its own already; with several coils the features take turns.

    Args:
        maps: How many features there are.
        y: The measurements.
        A: How they were measured.
    """
    if A.partial_isometry:
        return y[:, torch.arange(maps, device=y.device) % y.shape[1]], A
    return y.repeat(1, maps, 1, 1), EachMap(A, y.shape[1])


class FeatureConsistency(nn.Module):
    """Every feature map is brought back to the measurements."""

    def __init__(self, *, magnitude: bool) -> None:
        super().__init__()
        self.magnitude = magnitude
        self.consistency = CONSISTENCIES["auto"]()

    def forward(self, v: Feature, y: Tensor, A: LinearOperator) -> Feature:
        """Replace what was measured; ``y`` and ``A`` are those of `for_each_map`.

        Args:
            v: The features.
            y: The measurements.
            A: How they were measured.
        """
        if self.magnitude:
            v = full(v)
            return self.consistency(torch.complex(v, torch.zeros_like(v)), y, A).abs()
        return to_channels(self.consistency(to_complex(v), y, A))


class Convolution(nn.Module):
    """``v + BN(conv(phi(BN(conv v))))`` with the filtered LeakyReLU phi."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(channels, channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels),
            FilteredLeakyReLU(channels),
            nn.Conv2d(channels, channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, v: Feature) -> Feature:
        """Filter, with a residual."""
        return v + self.branch(v)


class Block(nn.Module):
    """Data consistency, integration near and far, data consistency."""

    def __init__(self, config: LMOConfig) -> None:
        super().__init__()
        self.consistency = FeatureConsistency(magnitude=config.feature_dc == "magnitude")
        self.convolution = Convolution(config.channels)
        self.scanning = Scanning(config.channels, config.d_state, config.backend)

    def forward(self, v: Feature, y: Tensor, A: LinearOperator) -> Feature:
        """Refine the features.

        Args:
            v: The features.
            y: The measurements.
            A: How they were measured.
        """
        v = self.consistency(v, y, A)
        v = v + self.scanning(self.convolution(v))
        return self.consistency(v, y, A)


class LMO(Reconstructor):
    """The Linear Mamba Operator (LMO)."""

    def __init__(self, config: LMOConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or LMOConfig()
        self.coils = self.config.coils
        self.lift = nn.Conv2d(2 * config.coils, config.channels, kernel_size=3, padding=1)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.project = nn.Conv2d(config.channels, 2 * config.coils, kernel_size=3, padding=1)
        self.consistency = CONSISTENCIES["auto"]()

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        x = self.start(y, A)
        v = self.lift(to_channels(x))
        y_maps, A_maps = for_each_map(self.config.maps, y, A)
        for block in self.blocks:
            v = block(v, y_maps, A_maps)
        return self.consistency(x + to_complex(self.project(v)), y, A)
