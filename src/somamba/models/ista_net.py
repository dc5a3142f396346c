"""ISTA-Net+: iterative shrinkage-thresholding with learned transforms (Zhang and Ghanem, CVPR 2018).

rho    length of the gradient step         theta  threshold of the shrinkage
D, G   image to features and back          H      C2 relu C1: features to coefficients, which should be sparse
d      D r, the lifted image               H~     C4 relu C3: coefficients to features; H~ H should change nothing
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.models.layers.precision import full
from somamba.options import check_at_least, check_words
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import CONSISTENCIES, Consistency, soften
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images, KSpace

Features = Float[Tensor, "batch features y x"]


@dataclass(frozen=True, kw_only=True)
class ISTANetConfig:
    """ISTA-Net+. The defaults are the paper's: nine phases of 32 filters, none shared."""

    phases: int = 9
    """Iterations, each with its own weights."""
    features: int = 32
    """Filters of each convolution."""
    step: Literal["gradient", "consistency"] = "gradient"
    """What opens a phase: a gradient step of learned length, or data consistency (hard; proximal with maps)."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, phases=1, features=1, coils=1)


class GradientStep(Consistency):
    """``r = x - rho A^H (A x - y)``, with ``rho`` learned and free."""

    def __init__(self) -> None:
        super().__init__()
        self.rho = nn.Parameter(torch.tensor(0.5))
        self.rho._no_weight_decay = True  # type: ignore[attr-defined]  # at 0 the measurements would be ignored

    @override
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        return soften(x, y, A, self.rho)


class Refined(NamedTuple):
    """What a phase makes of an image."""

    image: Images
    lifted: Features
    """d, the lifted image."""
    coefficients: Features
    """H d, before the shrinkage."""


class Symmetric(NamedTuple):
    """A reconstruction, and how far the learned transforms are from undoing each other on the way to it."""

    image: Images
    penalty: Float[Tensor, ""]


class Phase(nn.Module):
    """One iteration: data, then the proximal map of a learned sparsity."""

    def __init__(self, step: Consistency, channels: int, features: int) -> None:
        super().__init__()
        self.step = step
        self.theta = nn.Parameter(torch.tensor(0.01))
        self.theta._no_weight_decay = True  # type: ignore[attr-defined]  # at 0 nothing would be shrunk
        self.D = _filters(channels, features)
        self.H = nn.Sequential(_filters(features, features), nn.ReLU(), _filters(features, features))
        self.H_inverse = nn.Sequential(_filters(features, features), nn.ReLU(), _filters(features, features))
        self.G = _filters(features, channels)

    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Refined:
        """Step towards the measurements, shrink what is small.

        Args:
            x: The image.
            y: The measurements.
            A: How they were measured.
        """
        r = to_channels(self.step(x, y, A))
        lifted = self.D(r)
        coefficients = full(self.H(lifted))
        residual = self.G(self.H_inverse(shrink(coefficients, self.theta)))
        return Refined(to_complex(r + residual), lifted, coefficients)

    def asymmetry(self, refined: Refined) -> Float[Tensor, ""]:
        """``H~ H d - d``, mean square."""
        return F.mse_loss(full(self.H_inverse(refined.coefficients)), full(refined.lifted))


class ISTANet(Reconstructor):
    """Phases in series, from the zero-filled image."""

    def __init__(self, config: ISTANetConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or ISTANetConfig()
        self.coils = config.coils
        step = GradientStep if config.step == "gradient" else CONSISTENCIES["auto"]
        self.phases = nn.ModuleList(Phase(step(), 2 * config.coils, config.features) for _ in range(config.phases))

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        x = self.start(y, A)
        for phase in self.phases:
            x = phase(x, y, A).image
        return x

    def symmetry(self, y: Tensor, A: LinearOperator) -> Symmetric:
        """Reconstruct as ``forward`` does, with the symmetry penalty: the sum over the phases of their asymmetries.

        The paper adds 0.01 times the penalty to its loss. It costs half as much again, so inference leaves it out.
        """
        x = self.start(y, A)
        penalty = torch.zeros((), dtype=x.dtype.to_real(), device=x.device)
        for phase in cast(Iterable[Phase], self.phases):
            refined = phase(x, y, A)
            penalty = penalty + phase.asymmetry(refined)
            x = refined.image
        return Symmetric(x, penalty)


def shrink(u: Features, theta: Tensor) -> Features:
    """Soft threshold: ``sign(u) max(|u| - theta, 0)``."""
    return torch.sign(u) * F.relu(u.abs() - theta)


def _filters(inside: int, outside: int) -> nn.Conv2d:
    filters = nn.Conv2d(inside, outside, kernel_size=3, padding=1, bias=False)
    nn.init.xavier_normal_(filters.weight)
    return filters
