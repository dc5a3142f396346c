"""The library's front door: ``somamba.load(name).reconstruct(kspace)``, for arrays that are in memory already."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError, SomambaError
from somamba.inference.coil_maps import estimated_maps, given_maps
from somamba.inference.raw.arrangement import Arrangement
from somamba.inference.raw.noise import noise_of_scan
from somamba.inference.raw.sampling import find_sampling
from somamba.inference.raw.whitening import mix_coils, whitening_matrix
from somamba.inference.reconstruct import MAGNITUDE_ONLY
from somamba.inference.recover import MeasuredSlice, recover
from somamba.inference.trained import Trained
from somamba.inference.weights import DEFAULT, open_weights
from somamba.runtime.device import find_device

Array = TypeVar("Array", NDArray[Any], Tensor)
UNCENTRED = Arrangement(corner=True, rolled=True)


class Pretrained:
    """A model with its weights, ready to reconstruct."""

    def __init__(self, trained: Trained, device: str = "auto") -> None:
        self.trained = trained
        self.device = find_device(device)
        trained.model.to(self.device)

    def __repr__(self) -> str:
        weights = f", weights {self.trained.weights}" if self.trained.weights else ""
        return f"Pretrained({self.trained.name}{weights}, on {self.device})"

    def reconstruct(
        self,
        kspace: Array,
        maps: NDArray[Any] | Tensor | None = None,
        mask: NDArray[Any] | Tensor | None = None,
        *,
        noise: NDArray[Any] | Tensor | None = None,
        centred: bool = True,
        force: bool = False,
    ) -> Array:
        """Reconstruct one slice or several.

        Args:
            kspace: Complex, NumPy or torch: (y, x), (coils, y, x) or (slices, coils, y, x); columns are the phase
                encoding; zero where nothing was acquired.
            maps: Coil maps, (coils, y, x) or (slices, coils, y, x). None estimates them (ESPIRiT) from the fully
                acquired centre of k-space, where there are several coils.
            mask: What was acquired, (x,) or (y, x). None finds it from where k-space is zero.
            noise: Samples of a noise scan, (coils, samples), to prewhiten the coils by.
            centred: The zero frequency is in the middle, as after ``fftshift(fft2(ifftshift(image)))``. False: it is
                the first sample, as ``fft2(image)`` has it.
            force: Let weights that were trained for magnitude images see measurements.

        Returns:
            Complex images (y, x), or (slices, y, x) where there are slices, of the kind that came in, in the units of
            k-space under the orthonormal transform. Of several slices, one without signal is zero.

        Raises:
            InputError: arrays that do not fit, too few lines to estimate coil maps from; it says what to do.
        """
        if self.trained.protocol == "magnitude" and not force:
            raise InputError(MAGNITUDE_ONLY[0].upper() + MAGNITUDE_ONLY[1:])
        values = _complex(kspace, "k-space")
        slices = _slices(values)
        found = None if maps is None else _maps(_complex(maps, "coil maps"), slices)
        sampled = None if mask is None else _mask(mask, slices)
        if noise is not None:
            if self.trained.coils > 1:
                raise InputError(
                    "This network knows each coil as it is, so they cannot be prewhitened. Leave noise out."
                )
            whiten = _whitener(_complex(noise, "noise"), slices)
            slices, found = whiten(slices), None if found is None else whiten(found)
        if not centred:
            slices = torch.from_numpy(UNCENTRED.apply(slices.numpy()))
            sampled = None if sampled is None else torch.fft.fftshift(sampled, dim=(-2, -1))
        made = [
            self._image(index, one, None if found is None else found[index % len(found)], sampled)
            for index, one in enumerate(slices)
        ]
        if all(image is None for image in made):
            raise InputError("There is no signal: all samples are zero, or the coil maps are, or they hold only noise.")
        empty = torch.zeros(slices.shape[-2:], dtype=torch.complex64)
        images = torch.stack([empty if image is None else image for image in made])
        images = images if values.ndim == 4 else images[0]
        return images.to(kspace.device) if isinstance(kspace, Tensor) else images.numpy()

    def _image(self, index: int, kspace: Tensor, maps: Tensor | None, mask: Tensor | None) -> Tensor | None:
        """One slice; None where it has no signal."""
        if not bool(kspace.any()):
            return None
        try:
            if mask is None:
                mask = find_sampling(kspace).mask.pattern
            kspace = torch.where(mask, kspace, 0)
            if len(kspace) == 1 or self.trained.coils > 1:
                maps = None
            else:
                maps = estimated_maps(kspace) if maps is None else given_maps(maps)
            return recover(self.trained.model, MeasuredSlice(kspace=kspace, mask=mask, maps=maps), self.device)
        except SomambaError as error:
            raise InputError(f"Slice {index}: {error}") from None


def load(source: str = DEFAULT, *, device: str = "auto") -> Pretrained:
    """Load a model.

    Args:
        source: The name of weights that come with somamba, the folder of a checkpoint, or a model without weights
            (``zero_filled``).
        device: ``cpu``, ``cuda``, or ``auto`` for a GPU where there is one.
    """
    return Pretrained(open_weights(str(source)), device)


def _complex(array: NDArray[Any] | Tensor, name: str) -> Tensor:
    """A copy in complex64 on the CPU."""
    values = torch.from_numpy(np.array(array)) if isinstance(array, np.ndarray) else array.detach().cpu()
    if not values.is_complex():
        raise InputError(
            f"{name} must be complex, got {values.dtype}. Real and imaginary part in a last axis of two are joined by "
            "array[..., 0] + 1j * array[..., 1]."
        )
    values = values.to(torch.complex64)
    if not bool(torch.isfinite(values).all()):
        raise InputError(f"{name} must be finite in single precision; this one holds NaN, infinity or larger values.")
    return values


def _slices(values: Tensor) -> Tensor:
    if values.ndim not in (2, 3, 4) or values.numel() == 0 or min(values.shape[-2:]) < 2:
        raise InputError(
            f"k-space must be (y, x), (coils, y, x) or (slices, coils, y, x), got {tuple(values.shape)}. Slices of a "
            "single coil get their coil axis with kspace[:, None]."
        )
    return values[(None,) * (4 - values.ndim)]


def _maps(maps: Tensor, slices: Tensor) -> Tensor:
    maps = maps[None] if maps.ndim == 3 else maps
    if maps.ndim != 4 or len(maps) not in (1, len(slices)) or maps.shape[1:] != slices.shape[1:]:
        raise InputError(
            f"Coil maps must be (coils, y, x) or (slices, coils, y, x) like k-space {tuple(slices.shape)}, got "
            f"{tuple(maps.shape)}."
        )
    return maps


def _whitener(noise: Tensor, slices: Tensor) -> Callable[[Tensor], Tensor]:
    """What mixes the coils of k-space and of maps."""
    coils = slices.shape[1]
    if noise.ndim != 2 or len(noise) != coils:
        raise InputError(f"Noise must be (coils, samples) with {coils} coils, got {tuple(noise.shape)}.")
    found = noise_of_scan(noise.numpy(), 1.0)
    matrix = None if found is None or found.covariance is None else whitening_matrix(found.covariance)
    if matrix is None:
        raise InputError(
            f"The noise covariance of {coils} coils is singular in {noise.shape[1]} samples. Give more samples than "
            "coils, and leave out a coil that is switched off."
        )
    return lambda values: torch.from_numpy(mix_coils(matrix, values.numpy()))


def _mask(mask: NDArray[Any] | Tensor, slices: Tensor) -> Tensor:
    given = torch.as_tensor(np.asarray(mask.cpu() if isinstance(mask, Tensor) else mask))
    pattern = given[None] if given.ndim == 1 else given
    height, width = slices.shape[-2:]
    if pattern.ndim != 2 or pattern.shape[1] != width or pattern.shape[0] not in (1, height):
        raise InputError(
            f"A mask for k-space of {height} x {width} must be ({width},) or ({height}, {width}), got "
            f"{tuple(given.shape)}."
        )
    if not bool(((pattern == 0) | (pattern == 1)).all()) or not bool(pattern.any()):
        raise InputError("A mask must hold 0 and 1, with 1 where a sample was acquired: mask != 0 marks those.")
    return pattern == 1
