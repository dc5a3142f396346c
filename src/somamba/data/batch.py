"""What passes from data to a model: samples, and batches of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from somamba.errors import DataError
from somamba.physics.encoding import encoding
from somamba.physics.operator import LinearOperator
from somamba.runtime.device import send
from somamba.shapes import KSpace, Mask


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One undersampled slice and what it should become."""

    kspace: Complex[Tensor, "coils y x"]
    """Measured samples, zero elsewhere."""
    mask: Bool[Tensor, "1 #y x"]
    """True where k-space was measured."""
    maps: Complex[Tensor, "coils y x"] | None
    """Coil sensitivities; None if every coil is reconstructed by itself."""
    target: Float[Tensor, "1 y x"]
    """Magnitude of the fully sampled slice, in the same scale."""
    scale: float
    """What the target was divided by, and k-space too, besides a constant phase."""
    case_id: str
    slice: int
    """The number of the slice in its case."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Slices measured together: ``y = A(x)``, and ``target`` to compare the magnitude of ``x`` with."""

    y: KSpace
    A: LinearOperator
    mask: Mask
    target: Float[Tensor, "batch 1 y x"]
    scale: Float[Tensor, " batch"]
    case_ids: tuple[str, ...]
    slices: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.case_ids)

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same batch on another device, without waiting for a GPU."""
        moved: dict[str, Any] = {name: send(getattr(self, name), device) for name in ("y", "mask", "target", "scale")}
        return replace(self, A=self.A.to(device), **moved)


def collate(samples: Sequence[Sample]) -> Batch:
    """Stack samples of one size; with maps, a coil that only some of them have sees and measures nothing."""
    if not samples:
        raise DataError("A batch needs at least one sample.")
    if all(sample.maps is not None for sample in samples):
        samples = [_with_coils(sample, max(len(other.kspace) for other in samples)) for sample in samples]
    shapes = {tuple(sample.kspace.shape) for sample in samples}
    if len(shapes) > 1:
        raise DataError(
            f"Slices of different sizes cannot share a batch: {', '.join(map(str, sorted(shapes)))} (coils, y, x). "
            "Set size: [y, x] to crop them alike, or use a batch size of 1."
        )
    mask = torch.stack([sample.mask for sample in samples])
    maps = [sample.maps for sample in samples if sample.maps is not None]
    return Batch(
        y=torch.stack([sample.kspace for sample in samples]),
        A=encoding(mask, torch.stack(maps) if maps else None),
        mask=mask,
        target=torch.stack([sample.target for sample in samples]),
        scale=torch.tensor([sample.scale for sample in samples]),
        case_ids=tuple(sample.case_id for sample in samples),
        slices=tuple(sample.slice for sample in samples),
    )


def _with_coils(sample: Sample, count: int) -> Sample:
    """The sample with coils that see nothing behind its own, up to ``count``."""
    blind = (0, 0, 0, 0, 0, count - len(sample.kspace))
    if sample.maps is None or not any(blind):
        return sample
    return replace(sample, kspace=F.pad(sample.kspace, blind), maps=F.pad(sample.maps, blind))
