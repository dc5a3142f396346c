"""A scan to a reconstruction, one slice in memory at a time."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.inference.coil_maps import estimated_maps, given_maps
from somamba.inference.provenance import code_record
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.recover import Measured, recover, recover_magnitude, whole_image
from somamba.inference.scans.sampling import find_sampling
from somamba.inference.scans.scan import Scan
from somamba.inference.trained import Trained
from somamba.inference.undersampling import Undersampling
from somamba.models.zero_filled import ZeroFilled
from somamba.physics.fourier import ifft2c

MAGNITUDE_ONLY = (
    "these weights were trained for protocol 'magnitude': on real, positive images, each scaled to [0, 1] by its own "
    "minimum and maximum, single-coil, without noise, under one fixed mask. A measurement is complex and noisy, and the "
    "result would look better than it is. Use weights trained for protocol 'raw', or --force (force=True)."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recovered:
    """One slice as people see it; the truth and the zero-filled image only where the scan was undersampled for it."""

    index: int
    image: NDArray[np.complex64]
    """``(rows, columns)``, as all of them."""
    zero_filled: NDArray[np.complex64] | None = None
    whole: NDArray[np.complex64] | None = None


Watcher = Callable[[Recovered | None], None]
"""Hears of every slice when it is done; None for an empty one."""


def reconstruct(
    scan: Scan,
    trained: Trained,
    *,
    undersampling: Undersampling | None = None,
    force: bool = False,
    device: torch.device | str = "cpu",
    watch: Watcher = lambda _slice: None,
) -> Reconstruction:
    """Reconstruct every slice of a scan.

    Args:
        scan: What was measured.
        trained: The model; it is moved to ``device``.
        undersampling: What to leave out of a fully sampled scan; None reconstructs what was acquired.
        force: Let weights that were trained for magnitude images see measurements.
        device: Where the network runs.
        watch: Told of every slice.

    Returns:
        All slices; empty ones are zero, and counted in the provenance.

    Raises:
        InputError: a slice that cannot be reconstructed with this model; the message names it and says what to do.
    """
    check_fits(scan, trained, force=force)
    pattern = None if undersampling is None else undersampling.pattern(scan.shape)
    trained.model.to(device)
    images = np.zeros((scan.slices, *scan.image_shape), dtype=np.complex64)
    empty: list[int] = []
    for index in range(scan.slices):
        kspace = scan.kspace(index)
        if not bool(kspace.any()):
            empty.append(index)
            watch(None)
            continue
        try:
            keep = None if pattern is None else pattern.pattern
            recovered = _recover_slice(scan, index, kspace, keep, trained, device)
        except InputError as error:
            raise InputError(f"{scan.path}, slice {index}: {error}") from None
        images[index] = recovered.image
        watch(recovered)
    provenance: dict[str, Any] = {
        **_facts(scan, trained),
        "undersampling": None if undersampling is None else asdict(undersampling),
        "mask_digest": None if pattern is None else pattern.digest,
        "empty_slices": empty,
        "notes": list(scan.notes),
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


def check_fits(scan: Scan, trained: Trained, *, force: bool = False) -> None:
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


def stem(name: str) -> str:
    """The name of a file without its ending, both of them for ``.nii.gz``."""
    return name.removesuffix(".gz").rpartition(".")[0] or name


def _recover_slice(
    scan: Scan,
    index: int,
    full: Complex[Tensor, "coils y x"],
    keep: Bool[Tensor, "#y x"] | None,
    trained: Trained,
    device: torch.device | str,
) -> Recovered:
    sampling = find_sampling(full)
    mask = sampling.mask.pattern
    if keep is not None:
        if not sampling.complete:
            raise InputError(
                f"it is undersampled already, by {sampling.acceleration:.2f} ({sampling.kind}), so there is no truth "
                "to compare with. Leave --accelerate out to reconstruct what was acquired."
            )
        # Columns the scanner never acquired are no measurements of zero.
        mask = mask & keep
    if trained.protocol == "magnitude" and scan.simulated:
        return _recover_simulated(scan, index, full, mask, keep is not None, trained, device)
    kspace = torch.where(mask, full, 0)
    measured = Measured(kspace=kspace, mask=mask, maps=_maps(scan, index, kspace, trained))
    image = recover(trained.model, measured, device)
    if keep is None:
        return Recovered(index=index, image=_picture(scan, image))
    return Recovered(
        index=index,
        image=_picture(scan, image),
        zero_filled=_picture(scan, recover(ZeroFilled(), measured)),
        whole=_picture(scan, whole_image(full, measured.maps)),
    )


def _recover_simulated(
    scan: Scan,
    index: int,
    full: Complex[Tensor, "coils y x"],
    mask: Bool[Tensor, "#y x"],
    compare: bool,
    trained: Trained,
    device: torch.device | str,
) -> Recovered:
    """Under protocol ``magnitude``: the file has the image itself, so it can be scaled as the training images were."""
    image = ifft2c(full)[0].real
    result = _picture(scan, recover_magnitude(trained.model, image, mask, device))
    if not compare:
        return Recovered(index=index, image=result)
    return Recovered(
        index=index,
        image=result,
        zero_filled=_picture(scan, recover_magnitude(ZeroFilled(), image, mask)),
        whole=_picture(scan, image.to(torch.complex64)),
    )


def _maps(
    scan: Scan, index: int, kspace: Complex[Tensor, "coils y x"], trained: Trained
) -> Complex[Tensor, "coils y x"] | None:
    """Maps that were given, else estimated; none for one coil, or for a network that keeps coils side by side."""
    if scan.coils == 1 or trained.coils > 1:
        return None
    given = scan.maps(index)
    if given is not None:
        return given_maps(given)
    # Not from the whole scan, where it was undersampled afterwards: that would be known to no scanner.
    return estimated_maps(kspace if scan.reference is None else scan.calibration(index))


def _picture(scan: Scan, image: Complex[Tensor, "y x"]) -> NDArray[np.complex64]:
    return scan.picture(image).contiguous().numpy()


def _facts(scan: Scan, trained: Trained) -> dict[str, Any]:
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
    }
