"""Everything that defines an LMO network."""

from dataclasses import dataclass
from typing import Literal

from somamba.errors import ConfigError
from somamba.options import check_at_least, check_words


@dataclass(frozen=True, kw_only=True)
class LMOConfig:
    """LMO. The defaults are the network of the efficiency table: 5.39 M parameters, 485 G module MACs at 320x320."""

    depth: int = 16
    """Blocks. The public code has 6, 7, 12 or 16, by mask and acceleration; its own size table goes with 6."""
    channels: int = 64
    """The number of feature maps."""
    d_state: int = 16
    """State size of the scan."""
    feature_dc: Literal["complex", "magnitude"] = "complex"
    """Data consistency of the features: pairs of maps as complex images, or every map for itself as a magnitude."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    backend: str = "auto"
    """Scan backend: auto, fused, triton, native, chunked or reference."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, depth=1, channels=2, d_state=1, coils=1)
        if self.channels % 2 and self.feature_dc == "complex":
            raise ConfigError(
                f"channels={self.channels} cannot be paired to complex maps; choose an even number, or "
                "feature_dc='magnitude'."
            )

    @property
    def maps(self) -> int:
        """Images among the features: half as many as channels when pairs of them are complex."""
        return self.channels if self.feature_dc == "magnitude" else self.channels // 2
