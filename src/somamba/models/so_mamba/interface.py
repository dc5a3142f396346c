"""State-interface access: G changes how content is written to and read from the state (Eqs. 17-18).

mu, nu  multiplicative and additive modulation, each for B and for C
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from somamba.models.so_mamba.config import InterfaceConfig
from somamba.shapes import Grid


class Modulation(NamedTuple):
    """What G says to the interfaces, before the tanh."""

    values: Tensor
    """``(batch, ..., 4 * width)``: mu_B, nu_B, mu_C, nu_C."""
    scale: Tensor
    """alpha_mu."""
    shift: Tensor
    """alpha_nu."""

    def apply(self, interface: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
        """Eq. 18: ``interface * (1 + scale tanh(mu)) + shift tanh(nu)``."""
        return interface * (1 + self.scale * torch.tanh(mu)) + self.shift * torch.tanh(nu)


class InterfaceModulation(nn.Module):
    """``P(Norm(G)) = [mu_B, nu_B, mu_C, nu_C]``; its last layer starts at zero, so B and C start unmodulated."""

    scale: Tensor
    shift: Tensor

    def __init__(self, d_model: int, width: int, config: InterfaceConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        last = nn.Linear(config.hidden or d_model, 4 * width)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.project = nn.Sequential(nn.Linear(d_model, config.hidden), nn.SiLU(), last) if config.hidden else last
        for name in ("scale", "shift"):
            strength = torch.tensor(float(getattr(config, name)))
            if config.learned_strengths:
                self.register_parameter(name, nn.Parameter(strength))
            else:
                self.register_buffer(name, strength, persistent=False)

    def forward(self, evidence: Grid) -> Modulation:
        """Predict the modulation of every token."""
        return Modulation(self.project(self.norm(evidence)), self.scale, self.shift)
