"""State-interface access: G changes how content is written to and read from the state (Eqs. 17-18).

mu, nu  multiplicative and additive modulation, each for B and for C
"""

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somamba.models.layers.precision import full
from somamba.models.so_mamba.config import InterfaceConfig
from somamba.native.weights import Access, layer_weights
from somamba.shapes import Grid


class Modulation(NamedTuple):
    """The modulation before its last linear layer.

    mu and nu, four times the width at every token, are large tensors, so the layer is applied by what consumes them.
    """

    hidden: Tensor
    """``(batch, ..., hidden)``: its input."""
    weight: Tensor
    """``(4 * width, hidden)``: for mu_B, nu_B, mu_C, nu_C."""
    bias: Tensor
    """``(4 * width,)``: the bias of that layer."""
    scale: Tensor
    """alpha_mu, the strength of the multiplicative modulation."""
    shift: Tensor
    """alpha_nu, the strength of the additive modulation."""

    def values(self) -> tuple[Tensor, ...]:
        """mu_B, nu_B, mu_C, nu_C, before the tanh."""
        return F.linear(self.hidden, self.weight, self.bias).chunk(4, dim=-1)

    def apply(self, interface: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
        """Eq. 18: ``interface * (1 + scale tanh(mu)) + shift tanh(nu)``.

        Args:
            interface: B or C.
            mu: The multiplicative modulation.
            nu: The additive modulation.
        """
        return interface * (1 + self.scale * torch.tanh(mu)) + self.shift * torch.tanh(nu)


class LateLinear(nn.Linear):
    """A linear layer whose product is left to its consumer.

    It is an ``nn.Linear`` so that the names of the parameters and the count of multiplications see a layer.
    """

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Return input, weight and bias."""
        return x, self.weight, self.bias


class InterfaceModulation(nn.Module):
    """``P(Norm(G)) = [mu_B, nu_B, mu_C, nu_C]``; its last layer starts at zero, so B and C start unmodulated."""

    scale: Tensor
    shift: Tensor

    def __init__(self, d_model: int, width: int, config: InterfaceConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        hidden = config.hidden
        self.reduce = nn.Sequential(nn.Linear(d_model, hidden), nn.SiLU()) if hidden else nn.Identity()
        self.project = LateLinear(hidden or d_model, 4 * width)
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
        hidden, weight, bias = self.project(full(self.reduce(self.norm(evidence))))
        return Modulation(hidden, weight, bias, self.scale, self.shift)

    def weights(self) -> Access:
        """The parameters as the compiled unit takes them."""
        return Access(
            norm=layer_weights(self.norm),
            reduce=layer_weights(cast("nn.Sequential", self.reduce)[0]),
            modulate=layer_weights(self.project),
            strengths=(self.scale, self.shift),
        )
