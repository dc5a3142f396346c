"""Coil maps for a slice: those that were given, or ESPIRiT's from the fully acquired centre of its k-space."""

import torch
from jaxtyping import Complex
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils import calibration_region, espirit_sets

KERNEL = 6
"""Rows and columns of ESPIRiT's patches, BART's default: the least that must be acquired around the centre."""
ADVICE = (
    "Give coil maps (--maps FILE, in Python maps=), or a scan with at least "
    f"{KERNEL}, better 24, neighbouring lines acquired around the centre of k-space."
)


def estimated_maps(calibration: Complex[Tensor, "coils y x"]) -> Complex[Tensor, "*sets coils y x"]:
    """ESPIRiT's maps: of unit norm over the coils where there is signal, zero elsewhere.

    Of an object that is larger than the field of view there are two sets of them, see `espirit_sets`.

    Raises:
        InputError: too little of the centre was acquired; it says what to do.
    """
    try:
        height, width = calibration_region(calibration[None]).shape
    except InputError as error:
        raise InputError(f"Coil maps cannot be estimated. {error} {ADVICE}") from None
    if min(height, width) < KERNEL:
        raise InputError(
            f"Coil maps cannot be estimated from the {height} rows x {width} columns that are fully acquired around "
            f"the centre of k-space. {ADVICE}"
        )
    sets = espirit_sets(calibration, kernel=KERNEL)
    return sets[0] if len(sets) == 1 else sets


def given_maps(maps: Complex[Tensor, "coils y x"]) -> Complex[Tensor, "coils y x"]:
    """Maps that a user gave, brought to unit norm over the coils, as those that networks are trained with."""
    norm = torch.linalg.vector_norm(maps, dim=0)
    return maps / torch.where(norm > 0, norm, 1)
