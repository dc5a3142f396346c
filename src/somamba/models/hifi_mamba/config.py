"""Everything that defines a HiFi-Mamba network."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from somamba.errors import ConfigError
from somamba.options import LARGEST_SIZE, check_at_least, check_probability, check_words


class Parts(NamedTuple):
    """What tells the variants apart."""

    groups: int
    expansion: int
    """Hidden width of the bottlenecks, in multiples of a stream."""
    pooled_gate: bool
    """The channel gate sees the mean of every channel, or every token."""


VARIANTS = {
    "paper": Parts(groups=6, expansion=6, pooled_gate=False),
    "release": Parts(groups=8, expansion=5, pooled_gate=True),
}


@dataclass(frozen=True, kw_only=True)
class HiFiMambaConfig:
    """HiFi-Mamba. The defaults are the paper's network: 2.84 M parameters, 67.8 G module MACs at 320x320."""

    variant: Literal["paper", "release"] = "paper"
    """Six groups, bottlenecks six times as wide and a gate for each token; or the release: eight, five, one gate."""
    split: Literal["haar", "avgpool"] = "haar"
    """Low band of the paper's variant: Haar (twice the local mean) or the local mean. The release has a binomial."""
    groups: int | None = None
    """Unrolled stages with their own weights; by default as many as the variant has."""
    units: int = 2
    """HiFi-Mamba units in one group."""
    channels: int = 128
    """Feature channels: two streams of half the width."""
    patch: int = 2
    """Side of the image patch that becomes one token."""
    d_state: int = 16
    """State size of the scan."""
    drop_path: float = 0.3
    """Stochastic depth in training: the rate rises from 0 at the first unit to this at the last."""
    dropout: float = 0.1
    """Share of the mixer's output that is dropped in training."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    backend: str = "auto"
    """Scan backend: auto, fused, triton, native, chunked or reference."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, units=1, channels=2, patch=1, d_state=1, coils=1)
        if self.stages < 1:
            raise ConfigError(f"groups={self.groups} cannot be built; it must be at least 1.")
        if self.stages * self.units > LARGEST_SIZE:
            raise ConfigError(
                f"groups={self.stages} of units={self.units} cannot be built; at most {LARGEST_SIZE} can, in all."
            )
        if self.channels % 2:
            raise ConfigError(f"channels={self.channels} cannot be split into two streams; choose an even number.")
        if self.variant == "release" and self.split != "haar":
            raise ConfigError(
                f"split={self.split!r} is for variant 'paper'; the release always splits with a binomial filter. "
                "Leave split out, or choose variant='paper'."
            )
        check_probability(self, "drop_path", "dropout")

    @property
    def parts(self) -> Parts:
        """What the variant decides."""
        return VARIANTS[self.variant]

    @property
    def stages(self) -> int:
        """The number of groups."""
        return self.parts.groups if self.groups is None else self.groups

    @property
    def band(self) -> str:
        """The low-pass filter that splits the bands."""
        return "binomial" if self.variant == "release" else self.split
