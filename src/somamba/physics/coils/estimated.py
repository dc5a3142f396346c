"""Coil maps estimated from whatever centre of k-space there is, and what they leave out.

Where no map sees the object, the image is black. So the energy of the image at low resolution is measured there.
"""

from typing import NamedTuple

from jaxtyping import Complex
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils.maps import calibration_region, espirit, espirit_sets, low_resolution

KERNEL = 6
"""Rows and columns of ESPIRiT's patches, BART's default."""
NARROW, NARROW_KERNEL = 10, 4
"""From a centre with fewer lines than the first, patches of the second size are taken: with 6 lines of a head, patches
of 6 leave two thirds of its energy without maps, patches of 4 leave 2 %."""
FEWEST = 6
"""Fewer neighbouring lines around the centre give no maps."""


class Estimated(NamedTuple):
    """ESPIRiT's maps of a slice."""

    maps: Complex[Tensor, "*sets coils y x"]
    unseen: float
    """The share of the energy at low resolution where no map sees anything: 1 % or less for a head from 12 lines."""


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
    return Estimated(maps, _unseen_share(calibration, maps))


def _unseen_share(calibration: Complex[Tensor, "coils y x"], maps: Complex[Tensor, "*sets coils y x"]) -> float:
    """The share of the energy at low resolution in pixels without a map; 0 if there is no map, and so no signal."""
    seen = (maps != 0).flatten(end_dim=-3).any(dim=0)
    if not bool(seen.any()):
        return 0.0
    images = low_resolution(calibration, calibration_region(calibration[None]))
    energy = (images / images.abs().max()).abs().square().sum(dim=0)
    return float(energy[~seen].sum() / energy.sum())


def _espirit(calibration: Complex[Tensor, "coils y x"], *, narrow: bool) -> Complex[Tensor, "*sets coils y x"]:
    """One set of maps or two; small patches see a second one everywhere, so from a narrow centre there is one."""
    if narrow:
        return espirit(calibration[None], kernel=NARROW_KERNEL)[0]
    sets = espirit_sets(calibration, kernel=KERNEL)
    return sets[0] if len(sets) == 1 else sets
