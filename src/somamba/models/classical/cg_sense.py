"""CG-SENSE: the least-squares image by conjugate gradients (Pruessmann et al., MRM 2001). It learns nothing."""

from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from somamba.errors import ConfigError
from somamba.models.base import Reconstructor
from somamba.options import check_at_least
from somamba.physics.consistency import proximal
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images


@dataclass(frozen=True, kw_only=True)
class CGSenseConfig:
    """When to stop, and how much to regularise: both keep noise from being amplified."""

    iterations: int = 30
    """The most iterations of conjugate gradients."""
    strength: float = 0.01
    """Tikhonov's lambda, against 1, the largest eigenvalue of ``A^H A`` with maps of unit norm."""
    tolerance: float = 1e-4
    """Stop at this residual, relative to the first."""

    def __post_init__(self) -> None:
        check_at_least(self, iterations=1)
        if not (self.strength > 0 and self.tolerance >= 0):
            raise ConfigError(
                f"strength={self.strength:g} must be positive and tolerance={self.tolerance:g} must not be negative."
            )


class CGSense(Reconstructor):
    """``argmin |A x - y|^2 + lambda |x|^2``; without sensitivity maps it is the zero-filled image, a little darker."""

    def __init__(self, config: CGSenseConfig | None = None) -> None:
        super().__init__()
        self.config = config or CGSenseConfig()

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        config = self.config
        nothing = torch.zeros_like(self.start(y, A))
        return proximal(nothing, y, A, config.strength, iterations=config.iterations, tolerance=config.tolerance)
