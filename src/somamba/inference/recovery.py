"""One measured slice to one image: the stages scale, recover and unscale, for any method ``(y, A) -> image``."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils.maps import combine, root_sum_of_squares
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.operator import LinearOperator
from somamba.physics.scale import zero_filled_scale
from somamba.shapes import CoilImages

Picture = Complex[Tensor, "y x"]
Method = Callable[[Tensor, LinearOperator], Tensor]
"""``(y, A)`` to an image, as every `Reconstructor` does; a plain function serves as well."""


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


def _finite(images: CoilImages) -> CoilImages:
    bad = int((~torch.isfinite(images)).sum())
    if bad:
        raise InputError(
            f"The reconstruction has {bad} values that are not finite, of {images.numel()}: the samples are out of "
            "the range that the network can handle, or the weights do not suit this scan."
        )
    return images
