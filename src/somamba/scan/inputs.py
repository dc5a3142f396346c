"""What a Mamba-3 MIMO scan takes and returns.

The letters are those of the official module: C reads the state, B writes it, x is the content, z the gate.
Sizes: ``tokens`` any, ``heads`` a multiple of ``groups``, ``2 * angles`` at most ``n``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from somamba.errors import InputError

Interface = Float[Tensor, "batch tokens rank groups n"]
Content = Float[Tensor, "batch tokens heads p"]
Readout = Float[Tensor, "batch tokens *channels"]
PerToken = Float[Tensor, "batch tokens heads"]
Angles = Float[Tensor, "batch tokens heads angles"]
InterfaceBias = Float[Tensor, "heads rank n"]
Lift = Float[Tensor, "heads rank p"]
PerHead = Float[Tensor, " heads"]
States = Float[Tensor, "batch tokens *channels n"]


class ScanOutput(NamedTuple):
    """What a scan returns; the channels of a Mamba-3 scan are two axes, ``heads p``."""

    readout: Readout
    """S: the state read through C, gated, rank contracted; before any output projection."""
    states: States | None
    """h at every token; only on request, it is large."""


def check_arguments(
    arguments: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]], *, defining: tuple[str, str]
) -> None:
    """Refuse arguments whose shape, type or device does not go with those of the two that define the sizes.

    Args:
        arguments: The arguments by name.
        wanted: Their shapes by name.
        defining: The names of the two arguments that define the sizes.
    """
    lead = arguments[defining[0]]
    for name, shape in wanted.items():
        tensor = arguments[name]
        if tuple(tensor.shape) != shape:
            raise InputError(
                f"Scan argument {name} must be {shape} to go with {' and '.join(defining)}, got {tuple(tensor.shape)}."
            )
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.dtype != lead.dtype:
            raise InputError(
                f"Scan arguments must be all float32 or all float64; {name} is {tensor.dtype}, {defining[0]} "
                f"{lead.dtype}. Under autocast, cast them with .float() first."
            )
        if tensor.device != lead.device:
            raise InputError(
                f"Scan argument {name} is on {tensor.device}, {defining[0]} on {lead.device}; move them together."
            )


@dataclass(frozen=True, eq=False)
class ScanInputs:
    """All arguments of one scan, in the order of the official kernel."""

    C: Interface
    """Read interface, normed, before bias and rotation."""
    B: Interface
    """Write interface, normed, before bias and rotation."""
    x: Content
    """The content of every token."""
    z: Content
    """Gate, before the SiLU."""
    C_bias: InterfaceBias
    """Added to C for each head."""
    B_bias: InterfaceBias
    """Added to B for each head."""
    mimo_x: Lift
    """Lifts the content to ``rank`` inputs."""
    mimo_z: Lift
    """Lifts the gate to ``rank`` gates."""
    mimo_o: Lift
    """Contracts ``rank`` outputs to one."""
    D: PerHead
    """Skip from the lifted content to the read-out."""
    angles: Angles
    """Rotation speeds, before tanh."""
    dt: PerToken
    """The step size of every token, positive."""
    adt: PerToken
    """A * dt, the logarithm of the decay, negative."""
    trap: PerToken
    """Logit of lambda, the trapezoidal mixing coefficient."""

    def tensors(self) -> tuple[Tensor, ...]:
        """All arguments, in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def part(self, head: int, lanes: slice) -> "ScanInputs":
        """The arguments restricted to one head and a slice of its ``p`` channels, as views.

        This is exact, because the recurrence never mixes channels.
        """
        one = slice(head, head + 1)
        group = head * self.B.shape[3] // self.x.shape[2]
        interface = (slice(None), slice(None), slice(None), slice(group, group + 1))
        return ScanInputs(
            C=self.C[interface],
            B=self.B[interface],
            x=self.x[:, :, one, lanes],
            z=self.z[:, :, one, lanes],
            C_bias=self.C_bias[one],
            B_bias=self.B_bias[one],
            mimo_x=self.mimo_x[one, :, lanes],
            mimo_z=self.mimo_z[one, :, lanes],
            mimo_o=self.mimo_o[one, :, lanes],
            D=self.D[one],
            angles=self.angles[:, :, one],
            dt=self.dt[:, :, one],
            adt=self.adt[:, :, one],
            trap=self.trap[:, :, one],
        )

    def check(self) -> None:
        """Refuse arguments that do not belong together."""
        if self.x.ndim != 4 or self.B.ndim != 5:
            raise InputError(
                "A scan wants x as (batch, tokens, heads, p) and B as (batch, tokens, rank, groups, n); "
                f"got x {tuple(self.x.shape)} and B {tuple(self.B.shape)}."
            )
        batch, tokens, heads, p = self.x.shape
        rank, groups, n = self.B.shape[2:]
        angles = self.angles.shape[-1]
        if heads % groups or 2 * angles > n or min(batch, tokens, heads, p, rank, groups, n) < 1:
            raise InputError(
                f"A scan wants heads divisible by groups, 2 * angles <= n and no empty axis; got heads={heads}, "
                f"groups={groups}, angles={angles}, n={n}, batch={batch}, tokens={tokens}, p={p}, rank={rank}."
            )
        interface, content, per_token = (
            (batch, tokens, rank, groups, n),
            (batch, tokens, heads, p),
            (batch, tokens, heads),
        )
        bias, lift = (heads, rank, n), (heads, rank, p)
        wanted = {
            **dict.fromkeys(("C", "B"), interface),
            **dict.fromkeys(("x", "z"), content),
            **dict.fromkeys(("C_bias", "B_bias"), bias),
            **dict.fromkeys(("mimo_x", "mimo_z", "mimo_o"), lift),
            "D": (heads,),
            "angles": (*per_token, angles),
            **dict.fromkeys(("dt", "adt", "trap"), per_token),
        }
        check_arguments({name: getattr(self, name) for name in wanted}, wanted, defining=("x", "B"))
