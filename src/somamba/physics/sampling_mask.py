"""Which samples of one slice were acquired: the pattern, and what is known of it."""

import hashlib
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from somamba.errors import InputError


@dataclass(frozen=True, eq=False)
class SamplingMask:
    """A sampling pattern and what was asked for when it was made."""

    pattern: Tensor
    """Boolean, (1, x) if whole columns are acquired, else (y, x)."""
    kind: str
    """Name of the maker, as in `somamba.physics.masks.MASKS`."""
    acceleration: int | float
    """The nominal factor; `realised_acceleration` is the one that was reached."""

    def __post_init__(self) -> None:
        if self.pattern.dtype != torch.bool or self.pattern.ndim != 2:
            raise InputError(
                f"A sampling pattern must be boolean (y, x) or (1, x), got {self.pattern.dtype} "
                f"{tuple(self.pattern.shape)}. Try (pattern != 0), and pattern[None] for a row of columns."
            )
        if not bool(self.pattern.any()):
            raise InputError("Empty mask: nothing is acquired. At least one sample must be marked True.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SamplingMask) and torch.equal(self.pattern, other.pattern)

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def realised_acceleration(self) -> float:
        """All samples over acquired samples."""
        return self.acceleration_over()

    def acceleration_over(self, *, rows: slice = slice(None), columns: slice = slice(None)) -> float:
        """The realised acceleration within a region, such as the columns a scanner acquires at all."""
        region = self.pattern[rows if self.lines is None else slice(None), columns]
        return region.numel() / n_sampled if (n_sampled := int(region.sum())) else math.inf

    @property
    def lines(self) -> tuple[int, ...] | None:
        """The acquired columns, or None for a mask that does not consist of whole columns."""
        return tuple(self.pattern[0].nonzero().flatten().tolist()) if self.pattern.shape[0] == 1 else None

    @property
    def calibration(self) -> int:
        """How many neighbouring columns around the centre are fully acquired."""
        full = self.pattern.all(dim=0).tolist()
        center = len(full) // 2
        right = next((i for i, sampled in enumerate(full[center:]) if not sampled), len(full) - center)
        left = next((i for i, sampled in enumerate(reversed(full[:center])) if not sampled), center)
        return left + right if right else 0

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that depend on the shape and the pattern, not on how it was made."""
        height, width = self.pattern.shape
        bits = np.packbits(self.pattern.cpu().numpy()).tobytes()
        return hashlib.sha256(f"{height}x{width}:".encode() + bits).hexdigest()[:16]

    def tensor(self) -> Tensor:
        """The pattern as `encoding` takes it: (1, 1, y or 1, x)."""
        return self.pattern[None, None]
