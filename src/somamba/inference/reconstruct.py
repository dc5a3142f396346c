"""A scan to a reconstruction, one slice in memory at a time."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Complex, Shaped
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.inference.coil_maps import estimated_maps, given_maps
from somamba.inference.raw.raw_scan import RawScan
from somamba.inference.raw.sampling import find_sampling
from somamba.inference.raw.whitening import NOTE, whitened
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.recover import MeasuredSlice, recover, recover_magnitude, whole_image
from somamba.inference.trained import Trained
from somamba.inference.undersampling import Undersampling
from somamba.inference.writers.writing import stem
from somamba.models.zero_filled import ZeroFilled
from somamba.physics.fourier import ifft2c
from somamba.physics.masks import SamplingMask
from somamba.runtime.provenance import code_record

MAGNITUDE_ONLY = (
    "these weights were trained for protocol 'magnitude': on real, positive images, each scaled to [0, 1] by its own "
    "minimum and maximum, single-coil, without noise, under one fixed mask. A measurement is complex and noisy, so the "
    "result could look right and be wrong. Use weights trained for protocol 'raw', or --force (force=True)."
)
COMPLETE = "It is fully sampled, so nothing had to be recovered; --accelerate 4 shows what undersampling would cost."


@dataclass(frozen=True, kw_only=True, eq=False)
class Recovered:
    """One slice as people see it."""

    acceleration: float
    """All samples over those that were used, within what the scanner acquires at all."""
    image: NDArray[np.complex64]
    """``(rows, columns)``, as all of them."""
    zero_filled: NDArray[np.complex64]
    """From the same samples, without the network."""
    whole: NDArray[np.complex64] | None
    """From all samples, merged by the same coil maps; None unless a full scan was undersampled."""


Watcher = Callable[[Recovered | None], None]
"""Hears of every slice when it is done; None for one without signal."""


def reconstruct(
    scan: RawScan,
    trained: Trained,
    *,
    undersampling: Undersampling | None = None,
    prewhiten: bool = True,
    force: bool = False,
    device: torch.device | str = "cpu",
    watch: Watcher = lambda _slice: None,
) -> Reconstruction:
    """Reconstruct every slice of a scan.

    Args:
        scan: What was measured.
        trained: The model; it is moved to ``device``.
        undersampling: What to leave out of a fully sampled scan; None reconstructs what was acquired.
        prewhiten: Mix the coils so that their noise is independent and alike, where the file has a noise scan and the
            network takes sensitivity maps.
        force: Let weights that were trained for magnitude images see measurements.
        device: Where the network runs.
        watch: Told of every slice.

    Returns:
        All slices; those without signal are zero, and listed in the provenance.

    Raises:
        InputError: a slice that cannot be reconstructed with this model; the message names it and says what to do.
    """
    check_fits(scan, trained, force=force)
    # A network that takes coils side by side knows each of them as it is.
    scan = whitened(scan) if prewhiten and trained.coils == 1 else scan
    pattern = None if undersampling is None else undersampling.pattern(scan.shape, coils=scan.coils)
    trained.model.to(device)
    images = np.zeros((scan.slices, *scan.image_shape), dtype=np.complex64)
    empty: list[int] = []
    accelerations: list[float] = []
    for index in range(scan.slices):
        try:
            recovered = _recover_slice(scan, index, None if pattern is None else pattern.pattern, trained, device)
        except InputError as error:
            raise InputError(f"{scan.path}, slice {index}: {error}") from None
        if recovered is None:
            empty.append(index)
        else:
            images[index] = recovered.image
            accelerations.append(recovered.acceleration)
        watch(recovered)
    if len(empty) == scan.slices:
        raise InputError(f"{scan.path}: there is no signal in it: {_without_signal(scan)}")
    provenance: dict[str, Any] = {
        **_facts(scan, trained),
        "undersampling": None if undersampling is None else asdict(undersampling),
        "mask_digest": None if pattern is None else pattern.digest,
        "acceleration": sum(accelerations) / len(accelerations),
        "empty_slices": empty,
        "notes": [*scan.notes, *([COMPLETE] if max(accelerations) == 1 else [])],
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


def check_fits(scan: RawScan, trained: Trained, *, force: bool = False) -> None:
    """Refuse a scan that a model was not made for.

    Raises:
        InputError: weights for magnitude images and a measurement, or another number of coils than the network has.
    """
    if trained.protocol == "magnitude" and not scan.simulated and not force:
        raise InputError(f"{scan.path}: {MAGNITUDE_ONLY}")
    if trained.coils not in (1, scan.coils):
        raise InputError(
            f"{scan.path}: this network takes {trained.coils} coils side by side, the scan has {scan.coils}. Use "
            "weights trained with combine: sense, which take any number of coils."
        )


def _recover_slice(
    scan: RawScan, index: int, keep: Bool[Tensor, "#y x"] | None, trained: Trained, device: torch.device | str
) -> Recovered | None:
    """One slice; None where it has no signal."""
    full = scan.kspace(index)
    if not bool(full.any()):
        return None
    mask, acceleration = _sampled(full, keep)
    if trained.protocol == "magnitude" and scan.simulated:
        # The file holds the image itself, so it can be scaled as the training images were.
        whole = ifft2c(full)[0].real
        run = partial(recover_magnitude, image=whole, mask=mask, device=device)
    else:
        kspace = torch.where(mask, full, 0)
        maps = _maps(scan, index, kspace, trained)
        whole = whole_image(full, maps)
        run = partial(recover, measured=MeasuredSlice(kspace=kspace, mask=mask, maps=maps), device=device)
    image, zero_filled = run(trained.model), run(ZeroFilled())
    if image is None or zero_filled is None:
        return None
    return Recovered(
        acceleration=acceleration,
        image=_picture(scan, image),
        zero_filled=_picture(scan, zero_filled),
        whole=None if keep is None else _picture(scan, whole),
    )


def _sampled(
    full: Complex[Tensor, "coils y x"], keep: Bool[Tensor, "#y x"] | None
) -> tuple[Bool[Tensor, "#y x"], float]:
    """What is used of a slice, and the acceleration within what the scanner acquires at all."""
    sampling = find_sampling(full)
    mask = sampling.mask.pattern
    if keep is None:
        return mask, sampling.acceleration
    if not sampling.complete:
        raise InputError(
            f"it is undersampled already, by {sampling.acceleration:.2f} ({sampling.kind}), so there is no truth "
            "to compare with. Leave --accelerate out to reconstruct what was acquired."
        )
    # Columns the scanner never acquired are no measurements of zero.
    used = SamplingMask(mask & keep, "used", 1)
    return used.pattern, used.acceleration_over(rows=sampling.span.rows, columns=sampling.span.columns)


def _maps(
    scan: RawScan, index: int, kspace: Complex[Tensor, "coils y x"], trained: Trained
) -> Complex[Tensor, "coils y x"] | None:
    """Maps that were given, else estimated; none for one coil, or for a network that keeps coils side by side."""
    if scan.coils == 1 or trained.coils > 1:
        return None
    given = scan.maps(index)
    if given is not None:
        return given_maps(given)
    # Not from the whole scan, where it was undersampled afterwards: that would be known to no scanner.
    return estimated_maps(kspace if scan.reference is None else scan.calibration(index))


def _without_signal(scan: RawScan) -> str:
    if scan.coils == 1:
        return "all samples are zero, or all pixels of an image are equal."
    if scan.coil_maps is not None:
        return "the coil maps are zero nearly everywhere; look at --maps."
    return "no coil maps were found, as from noise alone. Look at it with somamba inspect, or give --maps."


def _picture(scan: RawScan, image: Shaped[Tensor, "y x"]) -> NDArray[np.complex64]:
    return scan.picture(image).to(torch.complex64).contiguous().numpy()


def _facts(scan: RawScan, trained: Trained) -> dict[str, Any]:
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
        "weights": trained.weights,
        "protocol": trained.protocol,
        "coils": scan.coils,
        "coil_maps": maps,
        "prewhitened": NOTE in scan.notes,
    }
