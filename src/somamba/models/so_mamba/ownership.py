"""The ownership-aware block: content from L, access and outlet from G (Sec. 2.4, Fig. 1e).

Content  L -> u        access  G -> B', C'        outlet  G -> Y        and, in the paper's network, never  G -> u
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.interface import InterfaceModulation, Modulation
from somamba.models.so_mamba.mixer import Mixer
from somamba.models.so_mamba.outlet import Outlet
from somamba.models.so_mamba.residency import gate_weights, make_residency
from somamba.models.so_mamba.tokens import tokenize, untokenize
from somamba.native.weights import StreamWeights, layer_weights
from somamba.shapes import Grid


class Merge(nn.Linear):
    """W_o and the residual: ``X + W_o([S, NSR(G)])``, as two products added in place, without a concatenated copy."""

    def __init__(self, readout: int, refined: int, channels: int) -> None:
        super().__init__(readout + refined, channels)
        self.widths = [readout, refined]

    def forward(self, residual: Tensor, readout: Tensor, refined: Tensor | None) -> Tensor:  # type: ignore[override]
        """Project both parts and add them to the residual.

        Args:
            residual: X, to which the rest is added.
            readout: S, the read-out of the scan.
            refined: NSR(G), None without an outlet.
        """
        parts = [readout] if refined is None else [readout, refined]
        if torch.is_autocast_enabled(residual.device.type):
            # In-place products would run in float32: autocast does not reach them.
            return residual + F.linear(torch.cat(parts, dim=-1), self.weight, self.bias)
        # Flat before the sum: products added to a view of it would be copied back and forth in the backward pass.
        merged = residual.flatten(0, 2) + self.bias
        for part, weight in zip(parts, self.weight.split(self.widths, dim=1), strict=False):
            merged.addmm_(part.flatten(0, 2), weight.t())
        return merged.unflatten(0, residual.shape[:3])


class OwnershipBlock(nn.Module):
    """``X + W_o([S, NSR(G)])`` with S the read-out of a scan over L whose interfaces G modulates."""

    def __init__(self, config: SOMambaConfig, order: str) -> None:
        super().__init__()
        routes, d_model = config.routes, config.d_model
        self.order = order
        self.content_norm = nn.LayerNorm(d_model)
        concat = routes.residency == "full" and config.residency_mix == "concat"
        self.mix = nn.Linear(2 * d_model, d_model) if concat else None
        self.residency = make_residency(routes.residency, d_model)
        self.mixer = Mixer(d_model, config.mixer, modulate_raw=config.interface.position == "before_norm")
        self.access = InterfaceModulation(d_model, self.mixer.width, config.interface) if routes.access else None
        self.outlet = Outlet(d_model, config.outlet_ratio) if routes.outlet else None
        separate = config.output_projection == "separate"
        self.out_proj = nn.Linear(self.mixer.d_inner, d_model, bias=False) if separate else nn.Identity()
        readout = d_model if separate else self.mixer.d_inner
        self.merge = Merge(readout, d_model if routes.outlet else 0, config.channels)

    def forward(self, features: Tensor, carrier: Grid, evidence: Grid | None) -> Tensor:
        """Return ``X + Y``: the features X with the block's output added.

        Args:
            features: X, the features of the unit.
            carrier: L.
            evidence: G, None if there is no evidence.
        """
        u = tokenize(self.content_norm(self.content(carrier, evidence)), self.order)
        modulation = None
        if self.access is not None and evidence is not None:
            hidden, *layer = self.access(evidence)
            modulation = Modulation(tokenize(hidden, self.order), *layer)
        S = self.mixer(u, modulation)
        read = untokenize(self.out_proj(S), (carrier.shape[1], carrier.shape[2]), self.order)
        refined = None if self.outlet is None or evidence is None else self.outlet(evidence)
        return self.merge(features, read, refined)

    def content(self, carrier: Grid, evidence: Grid | None) -> Grid:
        """Return what is tokenized: L alone, or L and what `residency` admits of G."""
        if self.residency is None or evidence is None:
            return carrier
        admitted = self.residency(evidence)
        return carrier + admitted if self.mix is None else self.mix(torch.cat([carrier, admitted], dim=-1))

    def weights(self) -> StreamWeights:
        """The parameters as the compiled unit takes them, with the outlet's last layer and W_o multiplied."""
        (weight, bias), refined = layer_weights(self.merge), None
        gate, token_gate = gate_weights(self.residency, len(self.content_norm.weight))
        if self.outlet is not None:
            read, refine = weight.split(self.merge.widths, dim=1)
            narrow, shift = layer_weights(self.outlet.narrow)
            weight, bias = read, bias + refine @ shift
            refined = (*layer_weights(self.outlet.filter), refine @ narrow)
        return StreamWeights(
            content_norm=layer_weights(self.content_norm),
            norm_eps=self.content_norm.eps,
            gate=gate,
            token_gate=token_gate,
            access=None if self.access is None else self.access.weights(),
            outlet=refined,
            merge=(weight, bias),
            **self.mixer.weights(),
        )
