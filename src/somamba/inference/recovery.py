"""One slice to one image: the stages scale, recover and unscale, for any method ``(y, A) -> image``."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.models.classical.zero_filled import ZeroFilled
from somamba.physics.coils.maps import combine, root_sum_of_squares
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.operator import LinearOperator
from somamba.physics.scale import zero_filled_scale
from somamba.raw.raw_scan import RawScan
from somamba.raw.sampling import SliceSampling
from somamba.shapes import CoilImages

Picture = Complex[Tensor, "y x"]
Method = Callable[[Tensor, LinearOperator], Tensor]
"""``(y, A)`` to an image, as every `Reconstructor` does; a plain function serves as well."""

TWO_SETS = (
    "The object is larger than the field of view and folds over. Two sets of coil maps tell its parts apart; the image "
    "shows their root sum of squares."
)
TOLD_UNSEEN = 0.05
"""A note tells of estimated maps if a larger share of the energy at low resolution lies where they see nothing."""
UNSEEN = (
    f"The estimated coil maps see nothing where more than {TOLD_UNSEEN:.0%} of the energy of a slice lies; it is dark "
    "there. More lines around the centre of k-space, or given maps (--maps FILE, in Python maps=), do better."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredSlice:
    """The samples of one slice, which of them were acquired, and the coil maps."""

    kspace: Complex[Tensor, "coils y x"]
    """Centred, zero where nothing was acquired."""
    mask: Bool[Tensor, "#y x"]
    """The samples that were acquired."""
    maps: Complex[Tensor, "*sets coils y x"] | None = None
    """Sensitivities of unit norm, two sets if an object is larger than the field of view; None for one coil, or if
    coils are kept side by side."""

    @property
    def operator(self) -> LinearOperator:
        """The operator ``A`` of the slice."""
        return encoding(self.mask[None, None], None if self.maps is None else self.maps[None])


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedSlice:
    """One slice, ready to be recovered by any method: every method gets the same samples, maps and scale."""

    measured: MeasuredSlice
    full: Complex[Tensor, "coils y x"]
    """All samples of the slice, also those that were left out afterwards; of virtual coils after compression."""
    sampling: SliceSampling
    """What was acquired of it."""
    acceleration: float
    """All samples over those that are used, within what the scanner acquires at all."""
    unit: float = 1.0
    """What the samples were divided by; the images are multiplied by it."""
    energy: float = 1.0
    """Share of the energy of the calibration samples that the virtual coils keep; 1 without compression."""
    unseen: float = 0.0
    """Share of the energy at low resolution where estimated coil maps see nothing."""
    magnitudes: bool = False
    """The slice is an image of magnitudes, and is scaled to [0, 1] as under protocol ``magnitude``."""

    def recover(self, method: Method, device: torch.device | str = "cpu") -> Picture | None:
        """The image that a method makes, in the units of the samples; None if there is no signal."""
        if self.magnitudes:
            image = recover_magnitude(method, ifft2c(self.full)[0].real, self.measured.mask, device)
        else:
            image = recover(method, self.measured, device)
        return None if image is None else image * self.unit

    def notes(self) -> list[str]:
        """What a person should know about its coil maps."""
        maps = self.measured.maps
        told = {
            TWO_SETS: maps is not None and maps.ndim == 4,
            UNSEEN: self.unseen > TOLD_UNSEEN,
        }
        return [note for note, applies in told.items() if applies]

    @cached_property
    def whole(self) -> Picture:
        """The image of all samples, merged by the same maps."""
        if self.magnitudes:
            return ifft2c(self.full)[0].real.to(torch.complex64) * self.unit
        return whole_image(self.full, self.measured.maps) * self.unit


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


@torch.no_grad()
def recover(model: Method, measured: MeasuredSlice, device: torch.device | str = "cpu") -> Picture | None:
    """Scale a slice as in training, its phase included, run a method, and take the scale back.

    Args:
        model: The method.
        measured: The slice.
        device: Where the method runs.

    Returns:
        The image in the units of k-space under the orthonormal transform, zero where no coil sees anything. None if
        the slice has no signal, i.e. the 99th percentile of the zero-filled magnitude is 0: ESPIRiT finds no coil maps
        in a slice of pure noise.

    Raises:
        InputError: the samples are too large, or the network gave values that are not finite.
    """
    y, A = measured.kspace[None], measured.operator
    scale = zero_filled_scale(y, A)
    if scale == 0:
        return None
    if not abs(scale) < math.inf:
        raise InputError("The samples are too large to be computed with in single precision; scale them down.")
    image = merged(_finite(model((y / scale).to(device), A.to(device)).cpu()) * scale)
    # No sample says anything about what lies outside of all maps, so nothing is shown there.
    maps = measured.maps
    return image if maps is None else torch.where((maps != 0).flatten(end_dim=-3).any(dim=0), image, 0)


@torch.no_grad()
def recover_magnitude(
    model: Method,
    image: Float[Tensor, "y x"],
    mask: Bool[Tensor, "#y x"],
    device: torch.device | str = "cpu",
) -> Picture | None:
    """Recover a slice under protocol ``magnitude``: the image is known, and scaled to [0, 1] before it is measured.

    Args:
        model: The method.
        image: The magnitudes.
        mask: The samples that are kept.
        device: Where the method runs.

    Returns:
        The image, or None if it has no contrast to scale by.
    """
    low, high = image.min(), image.max()
    if not high > low:
        return None
    unit = ((image - low) / (high - low)).to(torch.complex64)
    y = torch.where(mask, fft2c(unit), 0)[None, None]
    result = _finite(model(y.to(device), encoding(mask[None, None]).to(device)).cpu())
    return (merged(result).abs().clamp(0, 1) * (high - low) + low).to(torch.complex64)


def whole_image(kspace: Complex[Tensor, "coils y x"], maps: Complex[Tensor, "*sets coils y x"] | None) -> Picture:
    """What fully sampled k-space shows, merged as the reconstruction is: through the same maps, if there are any."""
    images = ifft2c(kspace)[None]
    if maps is not None and maps.ndim == 4:
        # The sets are orthogonal at every pixel.
        return merged((maps.conj() * images).sum(dim=1)[None])
    return merged(images if maps is None else combine(images, maps[None]))


def merged(images: CoilImages) -> Picture:
    """The image of one slice: its only one, or the root sum of squares of its coils, or of its sets of maps."""
    return images[0, 0] if images.shape[1] == 1 else root_sum_of_squares(images)[0, 0].to(images.dtype)


def picture(scan: RawScan, image: Shaped[Tensor, "y x"]) -> NDArray[np.complex64]:
    """The image as people see it: turned and cut as the scan says."""
    return scan.picture(image).to(torch.complex64).contiguous().numpy()


def _finite(images: CoilImages) -> CoilImages:
    bad = int((~torch.isfinite(images)).sum())
    if bad:
        raise InputError(
            f"The reconstruction has {bad} values that are not finite, of {images.numel()}: the samples are out of "
            "the range that the network can handle, or the weights do not suit this scan."
        )
    return images
