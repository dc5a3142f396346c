"""What is measured, on which data, how: the part of a recipe that concerns data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from somamba.data.catalog import DATASETS, Dataset
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.splits import Validation
from somamba.errors import ConfigError
from somamba.options import LARGEST_WHOLE, check_between
from somamba.physics.masks import CENTER_SHARE, MASKS


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """One dataset under one protocol. Defaults are the paper's for ACDC at fourfold acceleration."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {"variety": "augmentation"}

    dataset: str = "acdc"
    """Name in the catalogue (`somamba data --help` lists them)."""
    path: str = "data/acdc"
    """Folder that holds the official archives, unpacked."""
    protocol: Literal["magnitude", "raw"] = "magnitude"
    """How slices become measurements: ``magnitude`` is the paper's, ``raw`` is closer to a scanner."""
    acceleration: float | int = 4
    """The nominal acceleration, all samples over measured ones."""
    mask: str | None = None
    """Kind of the sampling mask; by default the dataset's."""
    mask_options: dict[str, float | int] = field(default_factory=dict)
    """What the kind of mask takes besides: spokes, center_fraction, offset."""
    masks: Literal["fixed", "drawn"] | None = None
    """One mask for all, or one drawn for every slice and epoch; by default drawn for ``raw`` only."""
    validation: Validation = "carved"
    """Which cases choose the best weights: ``carved`` holds some of the official training cases out, ``none`` trains on
    all of them, as in the paper, and keeps the last weights."""
    size: tuple[int, int] | None = None
    """Rows and columns of the images; by default the dataset's."""
    seed: int = 0
    """Seed of what is drawn for slices: masks, coils, phase, noise. A recipe's own seed decides their order."""
    combine: Literal["coils", "sense"] = "coils"
    """``raw`` only: every coil on its own (no maps in A), or one image seen through sensitivity maps."""
    n_coils: int = 8
    """``raw`` on magnitude images only: how many coils are simulated."""
    snr: float | int | None = None
    """``raw`` only: add complex noise; the 99th percentile of the image over the standard deviation of either part."""
    phase_axis: Literal["x", "y"] = "x"
    """``raw`` only: the axis of k-space that was phase encoded; column masks undersample x, so ``y`` swaps the two."""
    augmentation: Augmentation | None = None
    """``raw`` on magnitude images only: draw masks, acceleration, coils, noise and anatomy within bounds, and do not
    take them from the fields above."""
    cache: str | None = None
    """Folder of prepared slices; by default ``somamba`` in the user's cache folder. Safe to delete."""

    def __post_init__(self) -> None:
        _ = self.entry, MASKS[self.mask_kind]
        check_between(self, acceleration=(1, 1024), size=(1, LARGEST_IMAGE), n_coils=(1, 1024), seed=(0, LARGEST_WHOLE))
        for name, value in self.mask_options.items():
            if not -LARGEST_IMAGE * 16 <= value <= LARGEST_IMAGE * 16:
                raise ConfigError(f"mask_options.{name}={value} is more than an image has lines.")
        if self.size is not None and min(self.size) < 8:
            raise ConfigError(f"size={self.size}: images need at least 8 rows and columns.")
        if self.snr is not None and not self.snr > 0:
            raise ConfigError(f"snr={self.snr} must be positive; leave it out to add no noise.")
        if self.protocol == "magnitude" and (self.combine, self.snr, self.phase_axis) != ("coils", None, "x"):
            raise ConfigError(
                "combine, snr and phase_axis belong to protocol 'raw'; 'magnitude' has no coils or noise."
            )
        if self.draws_masks and self.mask_kind not in DRAWN:
            raise ConfigError(
                f"Masks of kind {self.mask_kind!r} are the same for every seed, so they cannot be drawn per slice. "
                f"Set masks: fixed, or choose mask: {' or '.join(DRAWN)}."
            )
        if self.augmentation is not None and self.protocol == "magnitude":
            raise ConfigError(AUGMENTATION)
        if self.entry.kspace:
            self.check_measured()

    def check_measured(self) -> None:
        """Refuse what cannot be had of measured k-space, which some datasets hold and of others only some files."""
        if self.augmentation is not None:
            raise ConfigError(AUGMENTATION)
        if self.combine == "sense" and self.mask_kind not in DRAWN:
            raise ConfigError(
                f"Maps are estimated from fully acquired central columns, which masks of kind {self.mask_kind!r} lack. "
                f"Set combine: coils, or choose mask: {' or '.join(DRAWN)}."
            )

    @property
    def entry(self) -> Dataset:
        """The dataset's entry in the catalogue."""
        return DATASETS[self.dataset]

    @property
    def root(self) -> Path:
        """The folder of the dataset."""
        return Path(self.path).expanduser()

    @property
    def mask_kind(self) -> str:
        """The kind of mask in force."""
        return self.mask or self.entry.mask

    @property
    def target_size(self) -> tuple[int, int] | None:
        """Rows and columns in force; None keeps those of the file, as measured k-space does unless told otherwise."""
        measured = self.protocol == "raw" and self.entry.kspace is not False
        return self.size if measured else self.size or self.entry.size

    @property
    def center_fraction(self) -> float:
        """Share of the columns that every mask acquires around the centre."""
        return self.mask_options.get("center_fraction", CENTER_SHARE / self.acceleration)

    @property
    def draws_masks(self) -> bool:
        """Whether every slice gets a mask of its own."""
        return (self.masks or {"magnitude": "fixed", "raw": "drawn"}[self.protocol]) == "drawn"

    def accelerated(self, acceleration: float | int) -> "DataConfig":
        """Return this protocol at one acceleration, in place of whatever was drawn before."""
        augmentation = self.augmentation and replace(self.augmentation, acceleration=(acceleration, acceleration))
        return replace(self, acceleration=acceleration, augmentation=augmentation)

    def preparation(self) -> dict[str, Any]:
        """What decides the prepared slices; masks, noise and simulated coils come later and cost little."""
        return {
            "version": PREPARATION,
            "dataset": self.dataset,
            "protocol": self.protocol,
            "size": self.target_size,
            "fit": self.entry.fit,
            "slices": [self.entry.slices.margin, self.entry.slices.central],
            "phase_axis": self.phase_axis,
            # Maps are estimated from the centre that the mask acquires, so they depend on it.
            "calibration": self.center_fraction if self.combine == "sense" else None,
        }

    def facts(self) -> dict[str, Any]:
        """The protocol in full, as checkpoints and result rows record it: nothing is left to a default."""
        return {
            **self.preparation(),
            "acceleration": float(self.acceleration),
            "mask": self.mask_kind,
            "mask_options": dict(self.mask_options),
            "masks": "drawn" if self.draws_masks else "fixed",
            "combine": self.combine,
            "n_coils": self.n_coils,
            "snr": self.snr,
            "seed": self.seed,
            "augmentation": None if self.augmentation is None else asdict(self.augmentation),
        }


AUGMENTATION = (
    "augmentation belongs to protocol 'raw' on magnitude images: a measured scan has its own coils and noise. Leave it "
    "out, or choose another dataset."
)
"""Said wherever an augmentation is asked for in vain."""

LARGEST_IMAGE = 4096
"""Most rows or columns of an image."""

PREPARATION = 1
"""This number is raised whenever prepared slices change for equal settings, which makes old caches invalid."""

DRAWN = ("random", "equispaced")
"""Kinds of mask that can differ from slice to slice: by their draw, or by their first column."""
