"""S6, the selective layer of Mamba-1: step sizes and interfaces from the content itself, then the scan.

u  content        B, C  write and read interface        dt  step size, of rank ``rank`` before it meets the channels
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from somamba.models.layers.initial import initial_dt_bias
from somamba.models.layers.precision import full
from somamba.scan.selective.backends import SelectiveScan
from somamba.scan.selective.inputs import SelectiveInputs


class Selection(NamedTuple):
    """What the content chooses for every token and direction."""

    steps: Float[Tensor, "batch tokens directions rank"]
    """Step size, before it is spread over the channels."""
    B: Float[Tensor, "batch tokens directions n"]
    """How content is written to the state."""
    C: Float[Tensor, "batch tokens directions n"]
    """How the state is read."""


class SelectiveLayer(nn.Module):
    """Scans each direction with weights of its own. Its projections are products, no layers, as in the public codes."""

    def __init__(self, channels: int, d_state: int, rank: int, *, directions: int = 1, backend: str = "auto") -> None:
        """Build for content of ``directions * channels`` channels, those of one direction after those of another."""
        super().__init__()
        self.directions = directions
        self.widths = [rank, d_state, d_state]
        self.select_weight = nn.Parameter(torch.empty(directions, sum(self.widths), channels))
        self.dt_weight = nn.Parameter(torch.empty(directions, channels, rank))
        nn.init.uniform_(self.select_weight, -(channels**-0.5), channels**-0.5)
        nn.init.uniform_(self.dt_weight, -(rank**-0.5), rank**-0.5)
        self.dt_bias = nn.Parameter(initial_dt_bias(directions * channels))
        speeds = torch.arange(1, d_state + 1, dtype=torch.float32)
        self.A_log = nn.Parameter(speeds.log().repeat(directions * channels, 1))
        self.D = nn.Parameter(torch.ones(directions * channels))
        # As in the official module: weight decay would pull decays, steps and skip to values of its own.
        for parameter in (self.A_log, self.D, self.dt_bias):
            parameter._no_weight_decay = True  # type: ignore[attr-defined]
        self.scan = SelectiveScan(backend)

    def forward(self, u: Float[Tensor, "batch tokens channels"]) -> Float[Tensor, "batch tokens channels"]:
        """Make the arguments of the scan and run it."""
        return self.read(u, self.select(u))

    def select(self, u: Float[Tensor, "batch tokens channels"]) -> Selection:
        """Choose step sizes and interfaces."""
        content = rearrange(u, "b t (k c) -> b t k c", k=self.directions)
        chosen = torch.einsum("btkc,koc->btko", content, self.select_weight)
        return Selection(*full(chosen).split(self.widths, dim=-1))

    def read(
        self, u: Float[Tensor, "batch tokens channels"], selection: Selection
    ) -> Float[Tensor, "batch tokens channels"]:
        """Scan the content through a selection, possibly modified; in float32 or better, also under autocast."""
        with torch.autocast(u.device.type, enabled=False):
            steps, B, C = map(full, selection)
            dt = torch.einsum("btkr,kcr->btkc", steps, self.dt_weight).flatten(2)
            return self.scan(
                SelectiveInputs(u=full(u), dt=F.softplus(dt + self.dt_bias), A=-self.A_log.exp(), B=B, C=C, D=self.D)
            )
