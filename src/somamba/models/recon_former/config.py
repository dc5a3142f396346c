"""Everything that defines a ReconFormer."""

from dataclasses import dataclass

from somamba.errors import ConfigError
from somamba.options import check_at_least

KERNELS = (1, 3, 5)
"""Scales of the pyramid attention: the heads are shared out among them."""

UNITS = 3
"""The three units work at half, full and one and a half times the resolution."""


@dataclass(frozen=True, kw_only=True)
class ReconFormerConfig:
    """The network of the paper; ``docs/models/reconformer.md`` says what was decided and why."""

    coils: int = 1
    """Image channels: the number of coils in coil-channel mode, else 1."""
    iterations: int = 5
    """Times that the three units run, always with the same weights."""
    channels: tuple[int, int, int] = (96, 48, 24)
    """Features of the units at half, full and one and a half times the resolution."""
    depths: tuple[int, int, int] = (2, 1, 1)
    """Transformer blocks in each of the two layers of a unit."""
    heads: int = 6
    """Heads of the attention, a third for each scale of the pyramid."""
    window: int = 8
    """Side of the attention windows."""
    expansion: int = 2
    """Width of the hidden layer of the token-wise network, in multiples of the channels."""
    recompute: bool = False
    """Recompute the activations of each transformer block in the backward pass: less memory, a little more time."""

    def __post_init__(self) -> None:
        # The weight of the carried maps is used from the third iteration on: below, it could not be learned.
        check_at_least(self, coils=1, iterations=3, heads=1, window=2, expansion=1, channels=12, depths=1)
        if self.heads % len(KERNELS):
            raise ConfigError(f"heads={self.heads} cannot be shared out among {len(KERNELS)} scales; try a multiple.")
        if len(self.channels) != UNITS or len(self.depths) != UNITS:
            raise ConfigError(
                f"channels={self.channels} and depths={self.depths} need one number for each of {UNITS} units."
            )
        for channels in self.channels:
            if channels % self.heads:
                raise ConfigError(f"channels={self.channels}: {channels} must be a multiple of heads={self.heads}.")
