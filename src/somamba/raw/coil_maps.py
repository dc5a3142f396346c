"""Coil maps that come with a scan, compared with it: they must lie as its images do, and belong to its coils."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import DataError, InputError
from somamba.files.reading import Volume
from somamba.physics.coils.maps import calibration_region, explained_share
from somamba.raw.raw_scan import RawScan, slice_with_signal

LEAST = 0.5
"""Maps that explain less of the low-resolution image than this are refused: maps that belong to a head explain 97 % of
it and more, maps of other coils, or conjugated, 10 to 28 %, and rolled ones at most 12 %."""
MOST = 0.9
"""A note tells of maps that explain less than this, and they are refused if a change of them explains more."""
ENOUGH = 6
"""From fewer lines around the centre the image is too coarse to refuse maps by it: the maps of a head explain 44 % of
its image from one line and 94 % from six. They still explain far more than rolled ones, at most 1 %."""
OTHERS = "Give the maps of this scan, with its coils in its order and its picture the same way up."
YX = (-2, -1)


def with_placed_maps(scan: RawScan) -> RawScan:
    """The scan with its coil maps where its images are.

    Programs write k-space whose image is rolled by half its size, and maps that lie likewise. K-space is rolled back
    when it is opened, so the maps may have to be. Which of both places is right is seen in the slice in the middle.

    Args:
        scan: A scan, with or without maps.

    Raises:
        DataError: the maps explain the scan at neither place; it says what was found.
    """
    maps = scan.coil_maps
    if maps is None or scan.coils == 1:
        return scan
    index = slice_with_signal(scan.volume, scan.path)
    kspace, given = scan.kspace(index), scan.maps(index)
    assert given is not None
    kspace = kspace / kspace.abs().max()
    try:
        lines = min(calibration_region(kspace[None]).shape)
    except InputError:
        # Without the centre of k-space there is no image at low resolution to compare with.
        return scan
    shares = {rolled: explained_share(kspace, _rolled(given) if rolled else given) for rolled in (False, True)}
    rolled = shares[True] > shares[False]
    doubtful = lines >= ENOUGH and not shares[rolled] >= MOST
    remedy = _remedy(kspace, given) if doubtful else ""
    if remedy or (doubtful and not shares[rolled] >= LEAST):
        raise DataError(
            f"{scan.path}: the coil maps explain {shares[False]:.0%} of the image at low resolution, and "
            f"{shares[True]:.0%} rolled by half their size; maps that belong to a scan explain nearly all of it. "
            f"{remedy or OTHERS} Or leave the maps out: they are then estimated."
        )
    notes = scan.notes
    if rolled:
        notes += (
            "The coil maps were rolled by half their size: so they explain the image, as they came they did not.",
        )
        maps = _rolled_volume(maps)
    if doubtful:
        notes += (
            f"The coil maps explain only {shares[rolled]:.0%} of the image at low resolution; what they do not explain "
            "is missing in the image. Compare it with one without --maps (maps=).",
        )
    return replace(scan, coil_maps=maps, notes=notes)


def _remedy(kspace: Complex[Tensor, "coils y x"], maps: Complex[Tensor, "coils y x"]) -> str:
    """Which change would make the maps fit; empty if none of those that programs differ in does."""
    changes = {
        "Their conjugate": maps.conj().resolve_conj(),
        "Turned upside down they": maps.flip(-2),
        "With left and right exchanged they": maps.flip(-1),
        "Turned by 180 degrees they": maps.flip(-2, -1),
        "With the coils in the opposite order they": maps.flip(-3),
    }
    for change, changed in changes.items():
        share = max(explained_share(kspace, changed), explained_share(kspace, _rolled(changed)))
        if share >= MOST:
            return f"{change} would explain {share:.0%}: give them so."
    return ""


def _rolled(maps: Complex[Tensor, "coils y x"]) -> Complex[Tensor, "coils y x"]:
    return torch.roll(maps, [-(size // 2) for size in maps.shape[-2:]], YX)


def _rolled_volume(maps: Volume) -> Volume:
    def read(start: int, stop: int) -> NDArray[Any]:
        return np.roll(maps.read(start, stop), [-(size // 2) for size in maps.shape[-2:]], YX)

    return Volume(shape=maps.shape, read=read)
