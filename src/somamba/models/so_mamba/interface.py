"""State-interface access: G changes how content is written to and read from the state (Eqs. 17-18).

mu, nu  multiplicative and additive modulation, each for B and for C
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somamba.models.layers.precision import full
from somamba.models.so_mamba.config import InterfaceConfig
from somamba.shapes import Grid


class Modulation(NamedTuple):
    """What G says to the interfaces, before the tanh."""

    values: Tensor
    """``(batch, ..., 4 * width)``: mu_B, nu_B, mu_C, nu_C, without their bias."""
    bias: Tensor
    """``(4 * width,)``: added to the values by whoever reads them, which saves a pass over them."""
    scale: Tensor
    """alpha_mu."""
    shift: Tensor
    """alpha_nu."""

    def apply(self, interface: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
        """Eq. 18: ``interface * (1 + scale tanh(mu)) + shift tanh(nu)``."""
        return interface * (1 + self.scale * torch.tanh(mu)) + self.shift * torch.tanh(nu)


class LateBias(nn.Linear):
    """A linear layer that leaves its bias to be added by its reader."""

    def forward(self, x: Tensor) -> Tensor:
        """Multiply only."""
        return F.linear(x, self.weight)


class InterfaceModulation(nn.Module):
    """``P(Norm(G)) = [mu_B, nu_B, mu_C, nu_C]``; its last layer starts at zero, so B and C start unmodulated."""

    scale: Tensor
    shift: Tensor

    def __init__(self, d_model: int, width: int, config: InterfaceConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        hidden = config.hidden
        self.reduce = nn.Sequential(nn.Linear(d_model, hidden), nn.SiLU()) if hidden else nn.Identity()
        self.project = LateBias(hidden or d_model, 4 * width)
        nn.init.zeros_(self.project.weight)
        nn.init.zeros_(self.project.bias)
        for name in ("scale", "shift"):
            strength = torch.tensor(float(getattr(config, name)))
            if config.learned_strengths:
                self.register_parameter(name, nn.Parameter(strength))
            else:
                self.register_buffer(name, strength, persistent=False)

    def forward(self, evidence: Grid) -> Modulation:
        """Predict the modulation of every token."""
        return Modulation(
            full(self.project(self.reduce(self.norm(evidence)))), self.project.bias, self.scale, self.shift
        )
