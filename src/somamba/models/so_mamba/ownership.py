"""The ownership-aware block: content from L, access and outlet from G (Sec. 2.4, Fig. 1e).

Content  L -> u        access  G -> B', C'        outlet  G -> Y        and never  G -> u
"""

import torch
import torch.nn.functional as F
from torch import nn

from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.interface import InterfaceModulation, Modulation
from somamba.models.so_mamba.mixer import Mixer
from somamba.models.so_mamba.outlet import Outlet
from somamba.models.so_mamba.tokens import tokenize, untokenize
from somamba.shapes import Grid


class Merge(nn.Linear):
    """W_o: a 1x1 on ``[S, NSR(G)]``, as two products whose sum needs no concatenated copy."""

    def __init__(self, readout: int, refined: int, channels: int) -> None:
        super().__init__(readout + refined, channels)
        self.widths = [readout, refined]

    def forward(self, readout: Grid, refined: Grid | None) -> Grid:  # type: ignore[override]
        """Project both and add."""
        if refined is None:
            return F.linear(readout, self.weight, self.bias)
        of_readout, of_refined = self.weight.split(self.widths, dim=1)
        merged = F.linear(refined.flatten(0, 2), of_refined, self.bias)
        merged.addmm_(readout.flatten(0, 2).to(merged.dtype), of_readout.t().to(merged.dtype))
        return merged.unflatten(0, readout.shape[:3])


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
        self.merge = Merge(readout, d_model if routes.outlet else 0, config.channels)

    def forward(self, carrier: Grid, evidence: Grid | None) -> Grid:
        """Return Y."""
        u = tokenize(self.content_norm(self.content(carrier, evidence)), self.order)
        modulation = None
        if self.access is not None and evidence is not None:
            values, *strengths = self.access(evidence)
            modulation = Modulation(tokenize(values, self.order), *strengths)
        S = self.mixer(u, modulation)
        read = untokenize(self.out_proj(S), (carrier.shape[1], carrier.shape[2]), self.order)
        refined = None if self.outlet is None or evidence is None else self.outlet(evidence)
        return self.merge(read, refined)

    def content(self, carrier: Grid, evidence: Grid | None) -> Grid:
        """What is tokenized: L alone. Only the residency ablation adds G."""
        if not self.residency or evidence is None:
            return carrier
        return carrier + evidence if self.mix is None else self.mix(torch.cat([carrier, evidence], dim=-1))
