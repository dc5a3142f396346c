"""Turns a case into the slices that are kept on disk: cropped, checked, scaled. One pure function per protocol.

``magnitude``  images (slices, y, x) float32, each scaled to [0, 1] by its own minimum and maximum
``raw``        measured k-space (slices, coils, y, x) complex64, or images (slices, y, x) to simulate k-space from
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from somamba.data.case import Case
from somamba.data.config import DataConfig
from somamba.errors import DataError
from somamba.physics.coils.maps import espirit
from somamba.physics.fourier import centre_crop, crop_kspace, ifft2c
from somamba.registry import Registry

Image = NDArray[np.float32]
Numbered = Iterator[tuple[int, NDArray[Any] | None]]
"""Slices with their numbers; None for one that cannot be used."""
CALIBRATION = 24
"""The most columns maps are estimated from, as in BART; fewer if the mask acquires fewer."""


@dataclass(frozen=True)
class Prepared:
    """The slices of one case, ready to be measured."""

    array: NDArray[Any]
    slices: tuple[int, ...]
    """Their numbers in the case."""
    left_out: tuple[tuple[int, str], ...] = ()
    """Slices among the valid ones that cannot be used, and why."""


def prepare(case: Case, config: DataConfig, only: int | None = None) -> Prepared:
    """Read the valid slices of a case, or one of them, and bring them into the form of the protocol.

    Args:
        case: The case.
        config: Protocol and size.
        only: The number of the only slice that is wanted; None for all valid ones.
    """
    valid = config.entry.slices.of(len(case))
    if not valid:
        raise DataError(
            f"Case {case.id!r} ({case.source}): none of its {len(case)} slices is valid; "
            f"{config.dataset} leaves out {config.entry.slices.margin} at either end."
        )
    if only is not None and only not in valid:
        raise DataError(
            f"Slice {only} of case {case.id!r} is not a valid one; choose {valid.start} to {valid.stop - 1}."
        )
    valid = valid if only is None else range(only, only + 1)
    kept: list[NDArray[Any]] = []
    numbers: list[int] = []
    left_out: list[tuple[int, str]] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for number, values in PREPARE[config.protocol](case, config, valid):
            if values is None:
                left_out.append((number, "all its pixels are equal, so there is nothing to measure"))
                continue
            if not np.isfinite(values).all():
                raise DataError(f"Case {case.id!r} ({case.source}): the values of slice {number} are too large.")
            kept.append(values)
            numbers.append(number)
    if not kept:
        raise DataError(f"Case {case.id!r} ({case.source}): every slice is empty.")
    return Prepared(np.stack(kept), tuple(numbers), tuple(left_out))


def magnitude(case: Case, config: DataConfig, valid: range) -> Numbered:
    """The lineage's preparation: magnitude, size, per-slice minimum and maximum.

    Args:
        case: The case.
        config: The size of the images.
        valid: The numbers of the slices.
    """
    for number, image in _images(case, valid):
        yield number, unit_range(fit(image, config.target_size, how=config.entry.fit))


def raw(case: Case, config: DataConfig, valid: range) -> Numbered:
    """Measured k-space if there is any; else images, for which coils are simulated when they are measured.

    Args:
        case: The case.
        config: The size, and whether maps are estimated.
        valid: The numbers of the slices.
    """
    if case.kspace is None:
        for number, image in _images(case, valid):
            image = fit(image, config.target_size or config.entry.size, how=config.entry.fit)
            yield number, image if np.ptp(image) > 0 else None
        return
    config.check_measured()
    rows = None if case.image is None else case.image.shape[1 if config.phase_axis == "x" else 2]
    for number, kspace in case.kspace.blocks(valid):
        if not kspace.any():
            yield number, None
            continue
        if config.phase_axis == "y":
            kspace = np.ascontiguousarray(kspace.swapaxes(-2, -1))
        kspace = crop_kspace(_check_phase_axis(case, kspace), config.size or (rows, None))
        yield number, with_maps(kspace, config) if config.combine == "sense" else kspace


PREPARE: Registry[Callable[[Case, DataConfig, range], Numbered]] = Registry(
    "protocol", {"magnitude": magnitude, "raw": raw}
)


def fit(image: Image, size: tuple[int, int] | None, *, how: str) -> Image:
    """Bring an image to a size: cut out (or pad with zeros) around the centre, or interpolate.

    Args:
        image: The image.
        size: Rows and columns.
        how: ``crop`` or ``resize``.
    """
    if size is None or image.shape == size:
        return image
    if how == "resize":
        resized = F.interpolate(torch.from_numpy(image)[None, None], size=size, mode="bilinear", antialias=True)
        return resized[0, 0].numpy()
    return centre_crop(image, size)


def unit_range(image: Image) -> Image | None:
    """Scale to [0, 1] by minimum and maximum; None for an image without contrast."""
    low, high = image.min(), image.max()
    if not high > low:
        return None
    return ((image - low) / (high - low)).astype(np.float32)


def with_maps(kspace: NDArray[np.complex64], config: DataConfig) -> NDArray[np.complex64]:
    """K-space followed, along the coil axis, by the maps estimated from the centre that every mask acquires."""
    width = min(CALIBRATION, round(kspace.shape[-1] * config.center_fraction))
    maps = espirit(torch.from_numpy(kspace)[None], calibration_width=width)[0].numpy()
    return np.concatenate([kspace, maps])


def _images(case: Case, valid: range) -> Iterator[tuple[int, Image]]:
    """The dataset's own magnitude images, or those of its k-space."""
    if case.image is not None:
        yield from case.image.blocks(valid)
    elif case.kspace is not None:
        for number, kspace in case.kspace.blocks(valid):
            yield number, np.linalg.norm(ifft2c(torch.from_numpy(kspace)).numpy(), axis=0).astype(np.float32)


def _check_phase_axis(case: Case, kspace: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """Lines that were never acquired lie along the phase encoding; if they are rows, column masks would be wrong."""
    empty_rows, empty_columns = (int((~kspace.any(axis=axes)).sum()) for axes in ((0, 2), (0, 1)))
    if empty_rows and not empty_columns:
        raise DataError(
            f"Case {case.id!r} ({case.source}): {empty_rows} rows of k-space were never acquired, but no "
            "column, so the phase encoding seems to run along y, and a mask of columns would undersample the readout. "
            "Set phase_axis: y."
        )
    return kspace
