"""Turns a prepared slice into an undersampled measurement: the second half of each protocol, as pure functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float
from numpy.typing import NDArray
from torch import Tensor

from somamba.data.batch import Sample
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation import varied
from somamba.data.simulation.scanned import scanned
from somamba.data.simulation.scanner import coil_maps, complex_noise, smooth_phase
from somamba.data.simulation.seeds import Draw, mask_for
from somamba.errors import DataError
from somamba.physics.coils.maps import combine
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.scale import brightness, zero_filled_scale
from somamba.registry import Registry


def measure(values: NDArray[Any], config: DataConfig, draw: Draw) -> Sample:
    """Undersample one prepared slice as the protocol has it.

    Args:
        values: The prepared slice.
        config: Protocol, mask and noise.
        draw: The slice and epoch that name the seeds.
    """
    return MEASURE[config.protocol](values, config, draw)


def magnitude(values: NDArray[Any], config: DataConfig, draw: Draw) -> Sample:
    """The lineage's protocol: the k-space of a real image, single coil, no noise, already scaled.

    Args:
        values: The prepared image.
        config: The mask.
        draw: The slice and epoch that name the seeds.
    """
    image = torch.from_numpy(np.array(values, dtype=np.float32))
    mask = mask_for((image.shape[0], image.shape[1]), config, draw).tensor()[0]
    kspace = torch.where(mask, fft2c(torch.complex(image, torch.zeros_like(image)))[None], 0)
    return Sample(
        kspace=kspace, mask=mask, maps=None, target=image[None], scale=1.0, case_id=draw.case_id, slice=draw.slice
    )


def raw(values: NDArray[Any], config: DataConfig, draw: Draw) -> Sample:
    """Complex multi-coil measurement with phase and noise, scaled by its own zero-filled image.

    Args:
        values: The prepared image, or k-space with its maps.
        config: Mask, coils and noise.
        draw: The slice and epoch that name the seeds.
    """
    if config.augmentation is not None:
        draw_scan = varied if config.augmentation.maps == "true" else scanned
        return draw_scan(values, config, config.augmentation, draw)
    full, maps, target = _measured(values, config) if values.ndim == 3 else _simulated(values, config, draw)
    # Columns a scanner never acquired count as such: they are no measurements of zero.
    acquired = (full != 0).any(dim=0).any(dim=0)
    if config.snr is not None:
        deviation = brightness(target) / config.snr
        full = full + complex_noise(tuple(full.shape), deviation, seed=draw.of("noise"))
    mask = mask_for((full.shape[1], full.shape[2]), config, draw).tensor()[0] & acquired
    kspace = torch.where(mask, full, 0)
    maps = maps if config.combine == "sense" else None
    name = f"Case {draw.case_id!r}, slice {draw.slice}"
    if not kspace.any():
        raise DataError(f"{name}: the measured samples are all zero.")
    scale = zero_filled_scale(kspace[None], encoding(mask[None], None if maps is None else maps[None]))
    if not abs(scale) > 0:
        raise DataError(
            f"{name}: the coil maps are zero nearly everywhere, so no image can be made with them. "
            "Maps need some 16 central lines: raise mask_options.center_fraction, or leave the case out."
        )
    return Sample(
        kspace=kspace / scale,
        mask=mask,
        maps=maps,
        target=target / abs(scale),
        scale=abs(scale),
        case_id=draw.case_id,
        slice=draw.slice,
    )


MEASURE: Registry[Callable[[NDArray[Any], DataConfig, Draw], Sample]] = Registry(
    "protocol", {"magnitude": magnitude, "raw": raw}
)


def coil_sum(images: Complex[Tensor, "coils y x"]) -> Float[Tensor, "1 y x"]:
    """Root sum of squares; no gradient passes here, so the plain formula does, ten times faster than a complex norm."""
    return images.abs().square().sum(dim=0, keepdim=True).sqrt()


def _measured(
    values: NDArray[Any], config: DataConfig
) -> tuple[Complex[Tensor, "coils y x"], Complex[Tensor, "coils y x"] | None, Tensor]:
    """Fully sampled k-space, maps if they were estimated, and the image that all of it gives."""
    stored = torch.from_numpy(np.array(values, dtype=np.complex64))
    if config.combine == "coils":
        return stored, None, coil_sum(ifft2c(stored))
    full, maps = stored.chunk(2)
    return full, maps, combine(ifft2c(full)[None], maps[None])[0].abs()


def _simulated(
    values: NDArray[Any], config: DataConfig, draw: Draw
) -> tuple[Complex[Tensor, "coils y x"], Complex[Tensor, "coils y x"], Tensor]:
    """The image with a made-up phase, seen by made-up coils."""
    image = torch.from_numpy(np.array(values, dtype=np.float32))
    shape = (image.shape[0], image.shape[1])
    maps = coil_maps(config.n_coils, shape, seed=draw.of_case("coils"))
    complex_image = image * smooth_phase(shape, seed=draw.of_case("phase") + draw.slice)
    return fft2c(maps * complex_image), maps, image.abs()[None]
