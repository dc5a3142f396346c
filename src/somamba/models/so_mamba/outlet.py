"""Non-State Refinement: the way of G to the output that does not pass through the state (Sec. 2.4)."""

from torch import nn

from somamba.models.layers.depthwise import DepthwiseGELU
from somamba.shapes import Grid


class Outlet(nn.Module):
    """NSR: depthwise 3x3, GELU, 1x1; with ``ratio`` an inverted bottleneck that many times as wide."""

    def __init__(self, d_model: int, ratio: int) -> None:
        super().__init__()
        inner = max(ratio, 1) * d_model
        self.widen = nn.Linear(d_model, inner) if ratio else nn.Identity()
        self.filter = DepthwiseGELU(inner)
        self.narrow = nn.Linear(inner, d_model)

    def forward(self, evidence: Grid) -> Grid:
        """Refine the evidence stream."""
        return self.narrow(self.filter(self.widen(evidence)))
