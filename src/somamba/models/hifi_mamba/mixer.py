"""The selective scan of the low band, its interfaces widened by the high band.

u  content, from the low band        g  evidence, from the high band
"""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.depthwise import DepthwiseSiLU
from somamba.models.layers.selective import Selection, SelectiveLayer
from somamba.scan.selective.directions import cross_merge, cross_scan
from somamba.shapes import Grid

EXPAND = 2
GATE_EXPANSION = 6
TAPS, DILATION = 7, 2

Interface = Float[Tensor, "batch tokens 1 n"]


class SimpleGate(nn.Module):
    """Two halves of a wide layer multiplied, one of them through GELU; and back to the width of the state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, 2 * GATE_EXPANSION * width, bias=False)
        self.narrow = nn.Linear(GATE_EXPANSION * width, width, bias=False)

    def forward(self, interface: Interface) -> Interface:
        """Gate an interface by itself."""
        one, other = self.widen(interface).chunk(2, dim=-1)
        return self.narrow(F.gelu(one) * other)


class TokenFilter(nn.Conv1d):
    """Each channel mixed along the raster, seven taps two tokens apart, both ways."""

    def __init__(self, width: int) -> None:
        padding = DILATION * (TAPS - 1) // 2
        super().__init__(width, width, TAPS, padding=padding, dilation=DILATION, groups=width, bias=False)

    def forward(self, interface: Interface) -> Interface:
        """Return the filtered tokens."""
        filtered = self._conv_forward(rearrange(interface, "b t 1 n -> b n t"), self.weight, None)
        return rearrange(filtered, "b n t -> b t 1 n")


class EvidenceInterfaces(nn.Module):
    """What the high band adds to B and C, each through a gate of its own."""

    def __init__(self, channels: int, inner: int, d_state: int) -> None:
        super().__init__()
        self.in_proj = nn.Linear(channels, inner, bias=False)
        self.select_weight = nn.Parameter(torch.empty(2 * d_state, inner))
        nn.init.uniform_(self.select_weight, -(inner**-0.5), inner**-0.5)
        self.gate_B = SimpleGate(d_state)
        self.gate_C = SimpleGate(d_state)

    def forward(self, g: Float[Tensor, "batch tokens channels"]) -> tuple[Interface, Interface]:
        """Return the additions to B and C."""
        B, C = F.linear(self.in_proj(g), self.select_weight).unsqueeze(2).chunk(2, dim=-1)
        return self.gate_B(B), self.gate_C(C)


class Mixer(nn.Module):
    """Mamba-1 on one raster: content from the low band, B and C from both bands."""

    def __init__(self, channels: int, d_state: int, dropout: int | float, backend: str) -> None:
        super().__init__()
        inner, rank = EXPAND * channels, math.ceil(channels / 16)
        self.in_proj = nn.Linear(channels, 2 * inner, bias=False)
        self.filter = DepthwiseSiLU(inner)
        self.selective = SelectiveLayer(inner, d_state, rank, backend=backend)
        self.evidence = EvidenceInterfaces(channels, inner, d_state)
        self.filter_steps = TokenFilter(rank)
        self.filter_B = TokenFilter(d_state)
        self.filter_C = TokenFilter(d_state)
        self.out_proj = nn.Linear(inner, channels, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, low: Grid, high: Grid) -> Grid:
        """Mix the low band; the high band decides what is written and read."""
        content, gate = self.in_proj(low).chunk(2, dim=-1)
        u = cross_scan(self.filter(content), 1)
        steps, B, C = self.selective.select(u)
        B_high, C_high = self.evidence(cross_scan(high, 1))
        chosen = Selection(self.filter_steps(steps), self.filter_B(B + B_high), self.filter_C(C + C_high))
        readout = cross_merge(self.selective.read(u, chosen), (low.shape[1], low.shape[2]), 1)
        return self.dropout(self.out_proj(readout * F.silu(gate)))
