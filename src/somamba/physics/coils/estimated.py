"""Coil maps estimated from whatever centre of k-space there is, and what they leave out.

Where no map sees the object, the image is black. So the maps are compared with the image at low resolution.
"""

from typing import NamedTuple

from jaxtyping import Complex
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils.maps import calibration_region, espirit, espirit_sets, explained_share

KERNEL = 6
"""Rows and columns of ESPIRiT's patches, BART's default."""
NARROW, NARROW_KERNEL = 10, 4
"""From a centre with fewer lines than the first, patches of the second size are taken: with 6 lines of a head, patches
of 6 leave two thirds of its energy without maps, patches of 4 leave 2 %."""
FEWEST = 6
"""Fewer neighbouring lines around the centre give no maps."""
MOST_UNSEEN = 0.3
"""Maps that leave out more of the energy at low resolution are refused; of a head they leave out 0.4 to 1 % if they
come from 12 lines and more."""


class Estimated(NamedTuple):
    """ESPIRiT's maps of a slice."""

    maps: Complex[Tensor, "*sets coils y x"]
    unseen: float
    """The share of the energy at low resolution that they do not explain."""


def estimated_maps(calibration: Complex[Tensor, "coils y x"]) -> Estimated:
    """ESPIRiT's maps: of unit norm over the coils where there is signal, zero elsewhere.

    Of an object that is larger than the field of view there are two sets of them, see `espirit_sets`.

    Args:
        calibration: K-space of one slice, whole or around its centre.

    Raises:
        InputError: too little of the centre was acquired.
    """
    try:
        height, width = calibration_region(calibration[None]).shape
    except InputError as error:
        raise InputError(f"Coil maps cannot be estimated. {error}") from None
    centre = f"the {height} rows x {width} columns that are fully acquired around the centre of k-space"
    if min(height, width) < FEWEST:
        raise InputError(f"Coil maps cannot be estimated from {centre}: {FEWEST} of both are needed.")
    maps = _espirit(calibration, narrow=min(height, width) < NARROW)
    unseen = 1 - explained_share(calibration, maps) if maps.any() else 0.0
    if unseen > MOST_UNSEEN:
        raise InputError(
            f"Coil maps estimated from {centre} miss {unseen:.0%} of the object, which would be black in the image."
        )
    return Estimated(maps, unseen)


def _espirit(calibration: Complex[Tensor, "coils y x"], *, narrow: bool) -> Complex[Tensor, "*sets coils y x"]:
    """One set of maps or two; small patches see a second one everywhere, so from a narrow centre there is one."""
    if narrow:
        return espirit(calibration[None], kernel=NARROW_KERNEL)[0]
    sets = espirit_sets(calibration, kernel=KERNEL)
    return sets[0] if len(sets) == 1 else sets
