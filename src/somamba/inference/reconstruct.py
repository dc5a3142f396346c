"""A raw scan to a reconstruction, one slice in memory at a time. Files, arrays and the demo all come through here."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from somamba.errors import InputError
from somamba.inference.adaptation import NOTHING_MISSING, Adaptation, Adapted, OnProgress, adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.recovery import Method, RecoveredSlice, picture
from somamba.inference.weights.adaptations import RECORD, adaptation_notes
from somamba.inference.weights.trained import Trained, refinement_config
from somamba.models.classical.l1_wavelet import L1Wavelet
from somamba.models.refined import Refined, Strengths
from somamba.models.soft_sense import SoftSense
from somamba.physics.operator import LinearOperator
from somamba.raw.naming import stem
from somamba.raw.noise import NOTE
from somamba.raw.raw_scan import RawScan
from somamba.runtime.provenance import code_record

NOT_ADAPTED = f"The network was not adapted: {NOTHING_MISSING}."
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

OnRecovered = Callable[[RecoveredSlice | None], None]
"""A function that is called with every slice when it is done; with None for one without signal."""


def reconstruct(
    scan: RawScan,
    trained: Trained,
    options: RecoveryOptions | None = None,
    *,
    adaptation: Adaptation | None = None,
    device: torch.device | str = "cpu",
    on_slice: OnRecovered = lambda _slice: None,
    on_adapting: OnProgress = lambda _progress: None,
    on_adapted: Callable[[Adapted], None] = lambda _adapted: None,
) -> Reconstruction:
    """Reconstruct every slice of a raw scan.

    Args:
        scan: What was measured.
        trained: The model; it is moved to ``device``.
        options: How slices are prepared and recovered.
        adaptation: Adapt a copy of the network to this scan first; None takes it as it is.
        device: Where the network runs.
        on_slice: Called with every slice.
        on_adapting: Called after every look at the held-out samples of an adaptation.
        on_adapted: Called with the adapted network.

    Returns:
        All slices; those without signal are zero, and listed in the provenance.

    Raises:
        InputError: a slice that cannot be reconstructed with this model; the message names it and says what to do.
    """
    preparation = Preparation(scan, trained, options)
    adapted = None
    if adaptation is not None:
        adapted = adapt(preparation, trained, adaptation, device=device, on_progress=on_adapting)
        trained = adapted.trained
        on_adapted(adapted)
    scan, method = preparation.scan, method_of(preparation, trained, device)
    images = np.zeros((scan.slices, *scan.image_shape), dtype=np.complex64)
    account = _Account(
        trained, adaptation_notes(trained.config, preparation.acquired) if RECORD in trained.config else []
    )
    if adapted is not None and not adapted.record["slices_used"]:
        account.notes.append(NOT_ADAPTED)
    for index in range(scan.slices):
        recovered = recover_slice(preparation, index, method, device)
        account.add(index, recovered, preparation)
        if recovered is not None:
            images[index] = recovered.image
        on_slice(recovered)
    if not account.accelerations:
        raise InputError(f"{scan.path}: there is no signal in it: {_without_signal(scan)}")
    provenance = {
        **_facts(preparation, trained),
        RECORD: trained.config.get(RECORD) if adapted is None else dict(adapted.record),
        "refinement": _strengths_of(method) if isinstance(method, Refined) else None,
        **account.facts(preparation),
        "code": code_record(),
    }
    return Reconstruction(
        name=stem(scan.path.name),
        images=images,
        volumes=scan.volumes,
        voxel=scan.voxel,
        affine=scan.affine,
        provenance=provenance,
    )


class _Account:
    """What the provenance says about the slices of a scan, collected one by one."""

    def __init__(self, trained: Trained, notes: list[str]) -> None:
        """Begin the account of a scan.

        Args:
            trained: What recovers the slices.
            notes: What is known before any slice.
        """
        self.trained = trained
        self.empty: list[int] = []
        self.accelerations: list[float] = []
        self.notes = notes
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
        notes = [*preparation.notes(prepared.sampling), *prepared.notes()]
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


def recover_slice(
    preparation: Preparation, index: int, method: Method, device: torch.device | str = "cpu"
) -> RecoveredSlice | None:
    """Prepare and recover one slice.

    Args:
        preparation: The scan.
        index: Number of the slice.
        method: ``(y, A)`` to an image, on ``device``.
        device: Where the method runs.

    Returns:
        The slice, or None if it has no signal.

    Raises:
        InputError: a slice that cannot be reconstructed; the message names it and says what to do.
    """
    prepared = preparation.slice(index)
    if prepared is None:
        return None
    began = time.perf_counter()
    try:
        image = prepared.recover(method, device)
    except InputError as error:
        raise InputError(f"{preparation.scan.path}, slice {index}: {error}") from None
    seconds = time.perf_counter() - began
    if image is None:
        return None
    scan = preparation.scan
    return RecoveredSlice(image=picture(scan, image), seconds=seconds, scan=scan, prepared=prepared)


def method_of(preparation: Preparation, trained: Trained, device: torch.device | str = "cpu") -> SoftSense | Refined:
    """The network as slices are reconstructed with it: ready for two sets of maps, and with the last step behind it.

    Strengths of the last step are chosen once, on the slice nearest to the middle that has signal, and used for all
    slices; of a single slice they are chosen when it is reconstructed.

    Args:
        preparation: The scan.
        trained: The model; it is moved to ``device``.
        device: Where the network runs.
    """
    network = SoftSense(trained.model.to(device))
    if not preparation.refines(trained):
        return network
    refined = Refined(network, refinement_config(trained)).eval()
    count = preparation.scan.slices
    if count == 1:
        return refined
    for index in sorted(range(count), key=lambda number: abs(number - count // 2)):
        prepared = preparation.slice(index)
        chosen: list[Strengths | None] = []

        def choose(y: Tensor, A: LinearOperator, chosen: list[Strengths | None] = chosen) -> Tensor:
            chosen.append(refined.strengths(y, A))
            return A.adjoint(y)

        if prepared is not None and prepared.recover(choose, device) is not None:
            refined.fixed = chosen[0]
            break
    return refined


def _without_signal(scan: RawScan) -> str:
    if scan.coils == 1:
        return "all samples are zero, or all pixels of an image are equal."
    if scan.coil_maps is not None:
        return "the coil maps are zero nearly everywhere; look at --maps."
    return "no coil maps were found, as from noise alone. Look at it with somamba inspect, or give --maps."


def _facts(preparation: Preparation, trained: Trained) -> dict[str, Any]:
    """What the provenance says about the scan, how it was prepared, and the weights."""
    scan, undersampling, pattern = preparation.scan, preparation.options.undersampling, preparation.pattern
    if scan.coils == 1:
        maps = "none, one coil"
    elif trained.coils > 1:
        maps = "none, root sum of squares"
    else:
        maps = "ESPIRiT" if scan.coil_maps is None else "given"
    return {
        "format": scan.format,
        "simulated": scan.simulated,
        "model": trained.name,
        "weights_name": trained.source,
        "weights": trained.weights,
        "protocol": trained.protocol,
        "coils": scan.coils,
        "coil_maps": maps,
        "prewhitened": NOTE in scan.notes,
        "undersampling": None if undersampling is None else asdict(undersampling),
        "mask_digest": None if pattern is None else pattern.digest,
        "compressed_to": preparation.compressed_to,
    }


def _strengths_of(refined: Refined) -> dict[str, Any]:
    """What the provenance says: the strengths that were used, None if nothing was missing or held out."""
    if refined.used is None:
        return {"weight": None, "sparsity": None}
    return {name: float(strength.flatten()[0]) for name, strength in refined.used._asdict().items()}
