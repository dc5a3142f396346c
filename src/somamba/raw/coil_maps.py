"""Coil maps of a scan: those that came with it, which must lie as its images do, else ESPIRiT's.

Whatever maps do not explain is missing in the image. So both kinds are compared with the image at low resolution.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import DataError, InputError
from somamba.files.reading import Volume
from somamba.physics.coils.maps import calibration_region, espirit, espirit_sets, explained_share
from somamba.raw.raw_scan import RawScan, slice_with_signal

LEAST = 0.5
"""Maps that explain less of the low-resolution image than this are refused: maps that belong to a head explain 97 % of
it and more, maps of other coils, or conjugated, 10 to 28 %, and rolled ones at most 12 %."""
MOST = 0.9
"""A note tells of maps that explain less than this, and they are refused if a change of them explains more."""
OTHERS = "Give the maps of this scan, with its coils in its order and its picture the same way up."
KERNEL = 6
"""Rows and columns of ESPIRiT's patches, BART's default."""
NARROW, NARROW_KERNEL = 10, 4
"""From a centre with fewer lines than the first, patches of the second size are taken: with 6 lines of a head, patches
of 6 leave two thirds of its energy without maps, patches of 4 leave 2 %."""
FEWEST = 6
"""Fewer neighbouring lines around the centre give no maps."""
UNSEEN = (0.05, 0.3)
"""The share of the energy at low resolution that estimated maps do not explain, above which a note says so, and above
which they are refused: 0.4 to 1 % with 12 lines and more."""
ADVICE = (
    "Give coil maps (--maps FILE, in Python maps=), or a scan with at least "
    f"{FEWEST}, better 24, neighbouring lines acquired around the centre of k-space."
)
YX = (-2, -1)


class Estimated(NamedTuple):
    """ESPIRiT's maps of a slice."""

    maps: Complex[Tensor, "*sets coils y x"]
    unseen: float
    """The share of the energy at low resolution that they do not explain."""


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
        shares = {rolled: explained_share(kspace, _rolled(given) if rolled else given) for rolled in (False, True)}
    except InputError:
        # Without the centre of k-space there is no image at low resolution to compare with.
        return scan
    rolled = shares[True] > shares[False]
    remedy = "" if shares[rolled] >= MOST else _remedy(kspace, given)
    if remedy or not shares[rolled] >= LEAST:
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
    if shares[rolled] < MOST:
        notes += (
            f"The coil maps explain only {shares[rolled]:.0%} of the image at low resolution; what they do not explain "
            "is missing in the image. Compare it with one without --maps (maps=).",
        )
    return replace(scan, coil_maps=maps, notes=notes)


def given_maps(maps: Complex[Tensor, "coils y x"]) -> Complex[Tensor, "coils y x"]:
    """Maps that a user gave, brought to unit norm over the coils, as those that networks are trained with."""
    norm = torch.linalg.vector_norm(maps, dim=0)
    return maps / torch.where(norm > 0, norm, 1)


def estimated_maps(calibration: Complex[Tensor, "coils y x"]) -> Estimated:
    """ESPIRiT's maps: of unit norm over the coils where there is signal, zero elsewhere.

    Of an object that is larger than the field of view there are two sets of them, see `espirit_sets`.

    Raises:
        InputError: too little of the centre was acquired; it says what to do.
    """
    try:
        height, width = calibration_region(calibration[None]).shape
    except InputError as error:
        raise InputError(f"Coil maps cannot be estimated. {error} {ADVICE}") from None
    lines = min(height, width)
    if lines < FEWEST:
        raise InputError(
            f"Coil maps cannot be estimated from the {height} rows x {width} columns that are fully acquired around "
            f"the centre of k-space. {ADVICE}"
        )
    maps = _espirit(calibration, narrow=lines < NARROW)
    unseen = 1 - explained_share(calibration, maps) if maps.any() else 0.0
    if unseen > UNSEEN[1]:
        raise InputError(
            f"Coil maps estimated from the {height} rows x {width} columns around the centre of k-space miss "
            f"{unseen:.0%} of the object, which would be black in the image. {ADVICE}"
        )
    return Estimated(maps, unseen)


def _espirit(calibration: Complex[Tensor, "coils y x"], *, narrow: bool) -> Complex[Tensor, "*sets coils y x"]:
    """One set of maps or two; small patches see a second one everywhere, so from a narrow centre there is one."""
    if narrow:
        return espirit(calibration[None], kernel=NARROW_KERNEL)[0]
    sets = espirit_sets(calibration, kernel=KERNEL)
    return sets[0] if len(sets) == 1 else sets


def unseen_note(unseen: float) -> list[str]:
    """What a person should know about the part of an object that no map explains; nothing if it is small."""
    if unseen <= UNSEEN[0]:
        return []
    return [
        f"The estimated coil maps miss {unseen:.0%} of the object's energy, which is dark in the image. More lines "
        "around the centre of k-space, or given maps (--maps FILE, in Python maps=), do better."
    ]


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
