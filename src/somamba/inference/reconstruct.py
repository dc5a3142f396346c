"""A raw scan to a reconstruction, one slice in memory at a time. Files, arrays and the demo all come through here."""

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
from somamba.inference.recovered import Account, RecoveredSlice, picture
from somamba.inference.recovery import Method
from somamba.inference.weights.trained import Trained
from somamba.models.refined import Refined, RefinementConfig, Strengths
from somamba.models.soft_sense import SoftSense
from somamba.physics.operator import LinearOperator
from somamba.raw.naming import stem
from somamba.raw.noise import NOTE
from somamba.raw.raw_scan import RawScan
from somamba.runtime.provenance import code_record

NOT_ADAPTED = f"The network was not adapted: {NOTHING_MISSING}."

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
    scan, model = preparation.scan, SoftSense(trained.model.to(device))
    refined = _refinement(preparation, trained, device) if preparation.refines(trained) else None
    images = np.zeros((scan.slices, *scan.image_shape), dtype=np.complex64)
    account = Account(trained)
    if adapted is not None and not adapted.record["slices_used"]:
        account.notes.append(NOT_ADAPTED)
    for index in range(scan.slices):
        recovered = recover_slice(preparation, index, refined or model, device)
        account.add(index, recovered, preparation)
        if recovered is not None:
            images[index] = recovered.image
        on_slice(recovered)
    if not account.accelerations:
        raise InputError(f"{scan.path}: there is no signal in it: {_without_signal(scan)}")
    provenance = {
        **_facts(preparation, trained),
        "adaptation": None if adapted is None else dict(adapted.record),
        "refinement": None if refined is None else _strengths_of(refined),
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


def _refinement(preparation: Preparation, trained: Trained, device: torch.device | str = "cpu") -> Refined:
    """The network with the last step behind it.

    Its strengths are chosen once, on the slice nearest to the middle that has signal, and used for all slices.
    """
    refined = Refined(SoftSense(trained.model), refinement_config(trained)).eval()
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


def refinement_config(trained: Trained) -> RefinementConfig:
    """How the last step is chosen behind a network; one that was adapted has not seen the first set of lines only."""
    return RefinementConfig(sets=1) if "adaptation" in trained.config else RefinementConfig()


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
