"""How much of the evidence G enters the content: all of it, or a share that is learned and starts at zero.

u = Tokenize(norm(L + g * G))        g  the gate: 1 for all channels and tokens, or learned

A learned gate starts at exactly zero. There the network is SO-Mamba, and the derivative of u with respect to G is zero.
The gate is a plain number, not a sigmoid or a tanh of one, so its own derivative at zero is that of the content, and
training can open it. It may exceed one or become negative.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from somamba.models.layers.neutral import Neutral
from somamba.models.layers.precision import full
from somamba.models.so_mamba.config import Residency
from somamba.shapes import Grid


class FixedGate(Neutral):
    """One gate for the whole unit, or one for each channel of G."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(size))
        self.gate._no_weight_decay = True  # type: ignore[attr-defined]  # what it becomes, the loss alone decides

    def forward(self, evidence: Grid) -> Grid:
        """Return ``g * G``."""
        return evidence * self.gate


class TokenGate(Neutral):
    """One gate for each token, a linear function of the normed evidence at that token: ``g = w . norm(G) + b``."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        # Made without random numbers: the other weights of the network are those that SO-Mamba draws from the seed.
        self.project = skip_init(nn.Linear, d_model, 1)
        for parameter in self.project.parameters():
            nn.init.zeros_(parameter)
            parameter._no_weight_decay = True

    def forward(self, evidence: Grid) -> Grid:
        """Return ``g * G``."""
        return evidence * full(self.project(self.norm(evidence)))


def gate_weights(residency: nn.Module | None, d_model: int) -> tuple[Tensor | None, Tensor | None]:
    """The gate of each channel, and the weights by which a token adds to it; None for each that is not there."""
    match residency:
        case FixedGate(gate=gate):
            return gate.expand(d_model).contiguous(), None
        case TokenGate(project=project):
            return project.bias.expand(d_model).contiguous(), project.weight[0]
        case nn.Identity():
            return torch.ones(d_model), None
    return None, None


def make_residency(kind: Residency, d_model: int) -> nn.Module | None:
    """Return the layer that admits G to the content, or None if G is not admitted."""
    match kind:
        case "none":
            return None
        case "full":
            return nn.Identity()
        case "learned_unit":
            return FixedGate(1)
        case "learned_channel":
            return FixedGate(d_model)
        case "learned_token":
            return TokenGate(d_model)
