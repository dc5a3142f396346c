"""The ownership-aware block: content from L, access and outlet from G (Sec. 2.4, Fig. 1e).

Content  L -> u        access  G -> B', C'        outlet  G -> Y        and never  G -> u
"""

import torch
from torch import nn

from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.interface import InterfaceModulation, Modulation
from somamba.models.so_mamba.mixer import Mixer
from somamba.models.so_mamba.outlet import Outlet
from somamba.models.so_mamba.tokens import tokenize, untokenize
from somamba.shapes import Grid


class OwnershipBlock(nn.Module):
    """``Y = W_o([S, NSR(G)])`` with S the read-out of a scan over L whose interfaces G modulates."""

    def __init__(self, config: SOMambaConfig, order: str) -> None:
        super().__init__()
        routes, d_model = config.routes, config.d_model
        self.order = order
        self.content_norm = nn.LayerNorm(d_model)
        concat = routes.residency and config.residency_mix == "concat"
        self.mix = nn.Linear(2 * d_model, d_model) if concat else None
        self.residency = routes.residency
        self.mixer = Mixer(d_model, config.mixer, modulate_raw=config.interface.position == "before_norm")
        self.access = InterfaceModulation(d_model, self.mixer.width, config.interface) if routes.access else None
        self.outlet = Outlet(d_model, config.outlet_ratio) if routes.outlet else None
        separate = config.output_projection == "separate"
        self.out_proj = nn.Linear(self.mixer.d_inner, d_model, bias=False) if separate else nn.Identity()
        readout = d_model if separate else self.mixer.d_inner
        self.merge = nn.Linear(readout + (d_model if routes.outlet else 0), config.channels)

    def forward(self, carrier: Grid, evidence: Grid | None) -> Grid:
        """Return Y."""
        u = tokenize(self.content_norm(self.content(carrier, evidence)), self.order)
        modulation = None
        if self.access is not None and evidence is not None:
            values, *strengths = self.access(evidence)
            modulation = Modulation(tokenize(values, self.order), *strengths)
        S = self.mixer(u, modulation)
        read = untokenize(self.out_proj(S), carrier.shape[1:3], self.order)
        if self.outlet is None or evidence is None:
            return self.merge(read)
        return self.merge(torch.cat([read, self.outlet(evidence)], dim=-1))

    def content(self, carrier: Grid, evidence: Grid | None) -> Grid:
        """What is tokenized: L alone. Only the residency ablation adds G."""
        if not self.residency or evidence is None:
            return carrier
        return carrier + evidence if self.mix is None else self.mix(torch.cat([carrier, evidence], dim=-1))
