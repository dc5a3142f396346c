"""What a selective scan takes.

u  content       dt  step size, already positive      A  rates of decay, negative
B  writes        C   reads                            D  skip

The channels are ``groups`` consecutive equal parts; each part has its own B and C.
"""

from dataclasses import dataclass, fields

from jaxtyping import Float
from torch import Tensor

from somamba.errors import InputError
from somamba.scan.inputs import check_arguments

PerChannel = Float[Tensor, "batch tokens channels"]
Interface = Float[Tensor, "batch tokens groups n"]
Rates = Float[Tensor, "channels n"]
Skip = Float[Tensor, " channels"]


@dataclass(frozen=True, eq=False)
class SelectiveInputs:
    """All arguments of one selective scan, in the order of the official kernel."""

    u: PerChannel
    """The content of every token."""
    dt: PerChannel
    """Step size, positive: the caller applies the softplus."""
    A: Rates
    """Rates of decay, negative."""
    B: Interface
    """How content is written to the state."""
    C: Interface
    """How the state is read."""
    D: Skip
    """Skip from the content to the read-out."""

    def tensors(self) -> tuple[Tensor, ...]:
        """All arguments, in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def check(self) -> None:
        """Refuse arguments that do not belong together."""
        if self.u.ndim != 3 or self.B.ndim != 4:
            raise InputError(
                "A selective scan wants u as (batch, tokens, channels) and B as (batch, tokens, groups, n); "
                f"got u {tuple(self.u.shape)} and B {tuple(self.B.shape)}."
            )
        batch, tokens, channels = self.u.shape
        groups, n = self.B.shape[2:]
        if min(batch, tokens, channels, groups, n) < 1 or channels % groups:
            raise InputError(
                "A selective scan wants channels divisible by groups and no empty axis; "
                f"got channels={channels}, groups={groups}, n={n}, batch={batch}, tokens={tokens}."
            )
        wanted = {
            **dict.fromkeys(("u", "dt"), (batch, tokens, channels)),
            "A": (channels, n),
            **dict.fromkeys(("B", "C"), (batch, tokens, groups, n)),
            "D": (channels,),
        }
        check_arguments({name: getattr(self, name) for name in wanted}, wanted, defining=("u", "B"))
