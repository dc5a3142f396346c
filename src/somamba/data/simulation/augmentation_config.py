"""What differs from scan to scan, and within which bounds it is drawn, so that one network holds on many scanners."""

import math
from dataclasses import dataclass
from typing import Literal

from somamba.errors import ConfigError
from somamba.options import check_between, check_words


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Bounds of what is drawn anew for every slice and epoch, ends included."""

    masks: tuple[Literal["equispaced", "random"], ...] = ("equispaced", "random")
    """Kinds of mask, equally likely."""
    acceleration: tuple[float | int, float | int] = (3, 8)
    """All columns over acquired ones, the calibration lines among them."""
    calibration: tuple[int, int] = (16, 32)
    """Fully acquired columns around the centre; at most half of the acquired ones, whatever is drawn."""
    coils: tuple[int, int] = (4, 16)
    """How many coils receive, on rings of many distances and sizes."""
    snr: tuple[float | int, float | int] = (25, 250)
    """Image over noise as in ``DataConfig.snr``; equally likely on a logarithmic scale."""
    anatomy: bool = True
    """Turn, mirror, zoom and shift the image, change its contrast and shading."""
    scalp: float | int = 0.75
    """How often a brain without its skull gets fluid, skull and scalp around it."""
    maps: Literal["true", "estimated"] = "true"
    """Coil maps as they were drawn, or as ESPIRiT estimates them from the measured calibration lines; the target is
    then what these maps make of the whole scan, as for a real one. What follows belongs to ``estimated``."""
    fat: float | int = 0.75
    """How often the fat below the skin of a whole object gets a phase and a brightness of its own."""
    unevenness: tuple[float | int, float | int] = (0, 0.25)
    """Standard deviation of a phase that is not smooth, in radians."""
    compressed: int = 12
    """More coils than this are compressed to so many, by what the calibration lines hold."""
    size: tuple[int, int] = (192, 256)
    """Rows and columns of a scan, each drawn on its own, multiples of 8."""
    padded: float | int = 0.15
    """How often the outer rows or columns of k-space were never acquired, and the image is interpolated."""
    folded: float | int = 0.1
    """How often the field of view is smaller than the object, which then folds over along the phase encoding."""

    def __post_init__(self) -> None:
        check_words(self)
        if not self.masks:
            raise ConfigError("augmentation.masks is empty; name equispaced, random or both.")
        for name, smallest in {"acceleration": 1, "calibration": 1, "coils": 1, "snr": 1e-6, "size": 32}.items():
            low, high = getattr(self, name)
            if not smallest <= low <= high:
                raise ConfigError(f"augmentation.{name}=({low}, {high}) must rise, from {smallest:g} at least.")
        low, high = self.unevenness
        if not 0 <= low <= high <= math.pi:
            raise ConfigError(f"augmentation.unevenness=({low}, {high}) must rise, from 0 to pi at most.")
        for name in ("scalp", "fat", "padded", "folded"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"augmentation.{name}={getattr(self, name)} is a share of the slices, 0 to 1.")
        check_between(
            self, "augmentation.", acceleration=(1, 1024), coils=(1, 1024), size=(32, 4096), compressed=(1, 1024)
        )
        check_between(self, "augmentation.", calibration=(1, 4096), snr=(1e-6, 1e12))
