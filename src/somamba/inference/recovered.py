"""One slice as people see it, and the account of all slices of a scan that the provenance and its notes give."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import NDArray
from torch import Tensor

from somamba.inference.preparation import Preparation, PreparedSlice
from somamba.inference.weights.trained import Trained
from somamba.models.classical.l1_wavelet import L1Wavelet
from somamba.models.classical.zero_filled import ZeroFilled
from somamba.raw.raw_scan import RawScan

COMPLETE = "It is fully sampled, so nothing had to be recovered; --acceleration 4 shows what undersampling would cost."
APPLIED = (
    "{} was applied all the same and changed the magnitudes by {:.1f} % (root mean square): details may be smoothed "
    "along with the noise. --weights zero_filled (in Python load('zero_filled')) shows all samples as they are."
)
CHOSEN = "l1_wavelet chose lambda {}, for images of brightness 1, by the samples that it held out."
LITTLE_ENERGY = (
    "Compressing the coils to {} keeps only {:.1f} % of the energy of the calibration lines; --coils (in Python "
    "coils=) with a larger number, at most {}, keeps more."
)
LEAST_ENERGY = 0.95
"""If virtual coils keep a smaller share of the energy, a note says so."""
LEAST_CHANGE = 0.0005
"""A smaller change of a fully sampled image is rounding."""
TWO_SETS = (
    "The object is larger than the field of view and folds over. Two sets of coil maps tell its parts apart; the image "
    "shows their root sum of squares."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecoveredSlice:
    """One slice as people see it; what only a comparison needs is computed when it is asked for."""

    image: NDArray[np.complex64]
    """``(rows, columns)``, as all images here."""
    seconds: float
    """How long the method took for it, without reading and coil maps."""
    scan: RawScan
    prepared: PreparedSlice

    def zero_filled(self) -> NDArray[np.complex64]:
        """The image of the same samples without a network."""
        image = self.prepared.recover(ZeroFilled())
        return np.zeros_like(self.image) if image is None else picture(self.scan, image)

    def whole(self) -> NDArray[np.complex64]:
        """The image of all samples, merged by the same coil maps: the truth for an undersampled full scan."""
        return picture(self.scan, self.prepared.whole)

    def change(self) -> tuple[float, float]:
        """The norm of what the method changed of the magnitudes of all samples, and the norm of those."""
        whole = np.abs(picture(self.scan, self.prepared.whole))
        return float(np.linalg.norm(np.abs(self.image) - whole)), float(np.linalg.norm(whole))


class Account:
    """What the provenance says about the slices of a scan, collected one by one."""

    def __init__(self, trained: Trained) -> None:
        self.trained = trained
        self.empty: list[int] = []
        self.accelerations: list[float] = []
        self.notes: list[str] = []
        self.changes: list[tuple[float, float]] = []
        """`RecoveredSlice.change` of each slice of which nothing is missing."""
        self.energies: list[float] = []
        """Shares of the energy that the virtual coils keep."""
        self.sparsities: list[float] = []
        """The lambda of each slice, if the method chooses one."""

    def add(self, index: int, recovered: RecoveredSlice | None, preparation: Preparation) -> None:
        """Take a slice into account.

        Args:
            index: Its number.
            recovered: The slice; None if it has no signal.
            preparation: The scan.
        """
        if recovered is None:
            self.empty.append(index)
            return
        prepared = recovered.prepared
        self.accelerations.append(prepared.acceleration)
        if prepared.acceleration == 1 and prepared.sampling.never_acquired == (0, 0):
            self.changes.append(recovered.change())
        self.energies.append(prepared.energy)
        if isinstance(self.trained.model, L1Wavelet) and self.trained.model.used is not None:
            self.sparsities.append(float(f"{float(self.trained.model.used):.6g}"))
        maps = prepared.measured.maps
        two_sets = [TWO_SETS] if maps is not None and maps.ndim == 4 else []
        notes = [*preparation.notes(prepared.sampling), *two_sets]
        self.notes += [note for note in notes if note not in self.notes]

    def facts(self, preparation: Preparation) -> dict[str, Any]:
        """What the provenance says, of at least one slice with signal."""
        compressed = preparation.compressed_to is not None
        notes = [*preparation.scan.notes, *self.notes, *self._compressed(preparation), *self._chosen()]
        return {
            "acceleration": sum(self.accelerations) / len(self.accelerations),
            "compressed_energy": min(self.energies) if compressed else None,
            "sparsities": self.sparsities or None,
            "empty_slices": self.empty,
            "notes": [*notes, *self._complete()],
        }

    def _compressed(self, preparation: Preparation) -> list[str]:
        """What is said of the virtual coils if they lose much of what was measured."""
        least, scan = min(self.energies), preparation.scan
        if least >= LEAST_ENERGY:
            return []
        return [LITTLE_ENERGY.format(preparation.compressed_to, 100 * least, scan.coils)]

    def _chosen(self) -> list[str]:
        """What is said of the strengths that a method chose for the slices of which samples are missing."""
        chosen = [sparsity for sparsity in self.sparsities if sparsity > 0]
        if not chosen:
            return []
        least, largest = min(chosen), max(chosen)
        return [CHOSEN.format(f"{least:g}" if least == largest else f"{least:g} to {largest:g}")]

    def _complete(self) -> list[str]:
        """What is said of a scan of which nothing is missing: that it is so, and what the method did to it."""
        if len(self.changes) < len(self.accelerations):
            return []
        changed, whole = (math.hypot(*norms) for norms in zip(*self.changes, strict=True))
        if changed <= LEAST_CHANGE * whole:
            return [COMPLETE]
        return [COMPLETE, APPLIED.format(self.trained.name, 100 * changed / whole)]


def picture(scan: RawScan, image: Shaped[Tensor, "y x"]) -> NDArray[np.complex64]:
    """The image as people see it: turned and cut as the scan says."""
    return scan.picture(image).to(torch.complex64).contiguous().numpy()
