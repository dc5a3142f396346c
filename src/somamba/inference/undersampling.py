"""Leaves out lines of a fully sampled scan, so that a reconstruction can be compared with the truth."""

import math
from dataclasses import dataclass

from somamba.errors import ConfigError
from somamba.physics.masks import CENTER_SHARE, MASKS, make_mask
from somamba.physics.sampling_mask import SamplingMask

LEAST_CALIBRATION = 12
"""Columns around the centre that coil maps can be estimated from: with fewer, errors of the maps drown the rest."""


@dataclass(frozen=True, kw_only=True)
class Undersampling:
    """How a fully sampled scan is undersampled: the same samples are kept of all its slices."""

    acceleration: float | int = 4
    """All samples over those that are kept."""
    mask: str = "equispaced"
    """Kind of the mask, as in `MASKS`."""
    calibration: int | None = None
    """Columns that are kept around the centre; by default 0.32 / acceleration of all columns, for several coils at
    least `LEAST_CALIBRATION`."""
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

    def pattern(self, shape: tuple[int, int], *, coils: int = 1) -> SamplingMask:
        """The mask for k-space of this many rows and columns."""
        lines = self.calibration
        if lines is None and coils > 1 and "center_fraction" in MASKS[self.mask].options:
            kept = shape[1] / self.acceleration
            lines = max(round(CENTER_SHARE * kept), min(LEAST_CALIBRATION, int(0.75 * kept)))
        options = {} if lines is None else {"center_fraction": min(1, lines / shape[1])}
        return make_mask(self.mask, shape=shape, acceleration=self.acceleration, seed=self.seed, **options)
