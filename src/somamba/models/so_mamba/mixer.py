"""Mamba-3 MIMO around the scan: projections, norms, biases (Eqs. 19-23; sizes and starts of the official module).

u  content tokens        z  gate        dt, A  step size and decay, made of the content
"""

from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from somamba.models.layers.initial import initial_dt_bias
from somamba.models.layers.precision import full
from somamba.models.so_mamba.config import MixerConfig
from somamba.models.so_mamba.interface import Modulation
from somamba.native.interface import modulated_norm
from somamba.native.library import usable
from somamba.scan.backends import Scan
from somamba.scan.inputs import ScanInputs

A_FLOOR = 1e-4  # decay never stops entirely; the official module's value
NORM_EPS = 1e-5


class InputProjection(nn.Linear):
    """Mamba's ``in_proj``: one weight, no bias, its output cut into named parts.

    Computed as three products (z, x, all the rest): none of their results is so large that the allocator gives its
    pages back to the system, and the rest, 141 columns, runs faster with three more.
    """

    def __init__(self, d_in: int, widths: dict[str, int]) -> None:
        super().__init__(d_in, sum(widths.values()), bias=False)
        self.widths = widths

    def forward(self, u: Tensor) -> dict[str, Tensor]:  # type: ignore[override]
        """Project the content and cut the result into its named parts."""
        z, x, *others = self.widths.values()
        weights = self.weight.split([z, x, sum(others)])
        spare = -sum(others) % 16
        rest = F.linear(u, F.pad(weights[2], (0, 0, 0, spare)))
        parts = rest.split([*others, spare] if spare else others, dim=-1)
        return dict(zip(self.widths, (F.linear(u, weights[0]), F.linear(u, weights[1]), *parts), strict=False))


class Mixer(nn.Module):
    """Mamba-3 without its output projection: content tokens and modulation in, post-scan read-out S out."""

    def __init__(self, d_model: int, config: MixerConfig, *, modulate_raw: bool = False) -> None:
        super().__init__()
        self.config = config
        self.d_inner = config.expand * d_model
        self.heads = heads = self.d_inner // config.d_head
        self.width = config.rank * config.groups * config.d_state
        rotated = int(config.d_state * config.rope_fraction) // 2
        widths = {"z": self.d_inner, "x": self.d_inner, "B": self.width, "C": self.width}
        widths |= {"dt": heads, "A": heads, "trap": heads, "angle": rotated}
        if config.tie_interfaces:
            del widths["C"]
        if config.tie_decay:
            del widths["A"]
        self.in_proj = InputProjection(d_model, widths)
        self.B_norm = nn.Parameter(torch.ones(config.d_state))
        self.C_norm = nn.Parameter(torch.ones(config.d_state))
        self.B_bias = nn.Parameter(torch.ones(heads, config.rank, config.d_state))
        self.C_bias = nn.Parameter(torch.ones(heads, config.rank, config.d_state))
        self.mimo_x = nn.Parameter(torch.full((heads, config.rank, config.d_head), 1 / config.rank))
        self.mimo_z = nn.Parameter(torch.ones(heads, config.rank, config.d_head))
        self.mimo_o = nn.Parameter(torch.full((heads, config.rank, config.d_head), 1 / config.rank))
        self.D = nn.Parameter(torch.ones(heads))
        self.dt_bias = nn.Parameter(initial_dt_bias(heads))
        # As in the official module: weight decay would pull the time steps and the skip to a value of its own.
        for parameter in (self.D, self.dt_bias):
            parameter._no_weight_decay = True  # type: ignore[attr-defined]
        self.modulate_raw = modulate_raw
        self.scan = Scan(config.backend)

    def forward(self, u: Tensor, modulation: Modulation | None = None) -> Tensor:
        """Scan the content ``(batch, tokens, d_model)`` through interfaces that G may have modulated."""
        parts = self.in_proj(u)
        # State and decays stay in float32, also under autocast.
        with torch.autocast(u.device.type, enabled=False):
            inputs = self._inputs({name: full(part) for name, part in parts.items()}, modulation)
            return rearrange(self.scan(inputs), "b t h p -> b t (h p)")

    def weights(self) -> dict[str, Any]:
        """The parameters as fields of the `StreamWeights` that the compiled unit takes."""
        names = ("dt_bias", "B_norm", "C_norm", "B_bias", "C_bias", "mimo_x", "mimo_z", "mimo_o", "D")
        return {name: getattr(self, name) for name in names} | {
            "project": self._projection(),
            "groups": self.config.groups,
            "interface_eps": NORM_EPS,
            "decay_floor": A_FLOOR,
            "decay_softplus": self.config.decay == "softplus",
        }

    def _projection(self) -> Tensor:
        """The weight for z, x, B, C, dt, A, trap and angle; if two of them are tied, the rows of one serve both."""
        if not (self.config.tie_interfaces or self.config.tie_decay):
            return self.in_proj.weight
        widths = self.in_proj.widths
        parts = dict(zip(widths, self.in_proj.weight.split(list(widths.values())), strict=True))
        parts.setdefault("C", parts["B"])
        parts.setdefault("A", parts["dt"])
        return torch.cat([parts[name] for name in ("z", "x", "B", "C", "dt", "A", "trap", "angle")])

    def _inputs(self, parts: dict[str, Tensor], modulation: Modulation | None) -> ScanInputs:
        config = self.config
        dt = F.softplus(parts["dt"] + self.dt_bias)
        A = -_speed(parts.get("A", parts["dt"]), config.decay)
        B, C = self._interfaces(parts["B"], parts.get("C", parts["B"]), modulation)
        heads = "b t (h p) -> b t h p"
        return ScanInputs(
            C=C,
            B=B,
            x=rearrange(parts["x"], heads, p=config.d_head),
            z=rearrange(parts["z"], heads, p=config.d_head),
            C_bias=self.C_bias,
            B_bias=self.B_bias,
            mimo_x=self.mimo_x,
            mimo_z=self.mimo_z,
            mimo_o=self.mimo_o,
            D=self.D,
            angles=parts["angle"].contiguous()[:, :, None].expand(-1, -1, self.heads, -1),
            dt=dt,
            adt=A.clamp(max=-A_FLOOR) * dt,
            trap=parts["trap"].contiguous(),
        )

    def _interfaces(self, B: Tensor, C: Tensor, modulation: Modulation | None) -> tuple[Tensor, Tensor]:
        if modulation is None:
            return self._norm(self._split(B), self.B_norm), self._norm(self._split(C), self.C_norm)
        if not self.modulate_raw and usable(B, modulation.hidden):
            B, C = modulated_norm(B, C, self.B_norm, self.C_norm, *modulation, NORM_EPS)
            return self._split(B), self._split(C)
        mu_B, nu_B, mu_C, nu_C = map(self._split, modulation.values())
        B, C = self._split(B), self._split(C)
        if self.modulate_raw:
            B, C = modulation.apply(B, mu_B, nu_B), modulation.apply(C, mu_C, nu_C)
            return self._norm(B, self.B_norm), self._norm(C, self.C_norm)
        B, C = self._norm(B, self.B_norm), self._norm(C, self.C_norm)
        return modulation.apply(B, mu_B, nu_B), modulation.apply(C, mu_C, nu_C)

    def _norm(self, interface: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(interface, (self.config.d_state,), weight, NORM_EPS)

    def _split(self, flat: Tensor) -> Tensor:
        return rearrange(flat, "b t (r g n) -> b t r g n", r=self.config.rank, g=self.config.groups)


def _speed(raw: Tensor, kind: str) -> Tensor:
    """f(v) > 0, the negative of A: 1 + v for v >= 0 and 1 / (1 - v) below."""
    if kind == "softplus":
        return F.softplus(raw)
    # Both branches are evaluated: the clamp keeps the unused one away from its pole.
    return torch.where(raw >= 0, 1 + raw, 1 / (1 - raw.clamp(max=0)))
