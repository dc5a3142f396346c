"""Leave out lines of a scan that has them all: then the reconstruction can be compared with the truth."""

import math
from dataclasses import dataclass

from somamba.errors import ConfigError
from somamba.physics.masks import MASKS, SamplingMask, make_mask


@dataclass(frozen=True, kw_only=True)
class Undersampling:
    """Which samples of a fully sampled scan are kept; the same for all its slices."""

    acceleration: float | int = 4
    """All samples over those that are kept."""
    mask: str = "equispaced"
    """Kind of the mask, as in `MASKS`."""
    calibration: int | None = None
    """Columns that are kept around the centre; by default 0.32 / acceleration of all columns."""
    seed: int = 0
    """Names the draw of a random mask."""

    def __post_init__(self) -> None:
        kind = MASKS[self.mask]
        if not (math.isfinite(self.acceleration) and self.acceleration > 1):
            raise ConfigError(f"An acceleration of {self.acceleration:g} leaves nothing out; choose more than 1.")
        if self.calibration is not None and "center_fraction" not in kind.options:
            raise ConfigError(f"Masks of kind {self.mask!r} have no calibration lines; leave their number out.")
        if self.calibration is not None and self.calibration < 0:
            raise ConfigError(f"calibration={self.calibration} lines; choose 0 or more.")

    def pattern(self, shape: tuple[int, int]) -> SamplingMask:
        """The mask for k-space of this many rows and columns."""
        options = {} if self.calibration is None else {"center_fraction": min(1, self.calibration / shape[1])}
        return make_mask(self.mask, shape=shape, acceleration=self.acceleration, seed=self.seed, **options)
