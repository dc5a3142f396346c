"""Whether an object is larger than the field of view and folds over, by the eigenvalues of ESPIRiT's matrix.

Coils see two parts of such an object at one pixel, so that two eigenvalues are 1 there. Patches of noise span
everything, so that all eigenvalues are high: noise is no second part.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from somamba.physics.coils.eigenvectors import APART, Offsets, sums_of_eigenvalues

SECOND_EIGENVALUE = 0.95
"""If an object folds over, both eigenvalues are 1 there. Elsewhere the second stays lower: on a real head that fits
into the field of view it is above 0.9 in less than 1 % of the pixels, and above 0.95 in none."""
SECOND_SHARE = 0.005
"""A second set of maps is used if more than this share of the pixels with signal folds over."""
NOISE_EIGENVALUE = 0.5
"""It is noise if the other eigenvalues, where two are 1, have a higher mean: 0.75 or more for noise of 3 to 12 coils,
0.1 to 0.4 where a head folds over."""
NOISE_SHARE = 0.8
"""Two coils have no other eigenvalues. It is noise if both are 1 in more than this share of the pixels with signal:
0.86 or more for noise, 0.3 for a head in half of its field of view."""


def folds_over(offsets: Offsets, seen: Bool[Tensor, "y x"], second_eigenvalues: Float[Tensor, "rows columns"]) -> bool:
    """Whether two eigenvalues, and not all of them as in noise, are 1 in some of the pixels with signal.

    Args:
        offsets: The convolution whose matrix has these eigenvalues.
        seen: The pixels with signal.
        second_eigenvalues: The second eigenvalue at every `APART`-th pixel.
    """
    coarse_seen = seen[::APART, ::APART]
    folded = coarse_seen & (second_eigenvalues > SECOND_EIGENVALUE)
    n_seen, n_folded, n_others = int(coarse_seen.sum()), int(folded.sum()), len(offsets) - 2
    if n_folded <= SECOND_SHARE * n_seen:
        return False
    if n_others == 0:
        return n_folded <= NOISE_SHARE * n_seen
    height, width = seen.shape
    others = sums_of_eigenvalues(offsets, (height, width), apart=APART)[folded] - 2
    return float(others.mean()) <= NOISE_EIGENVALUE * n_others
