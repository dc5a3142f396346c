"""Images that are sparse in wavelets: ``min 1/2 |A x - y|^2 + mu/2 |x - prior|^2 + lambda |W x|_1`` by FISTA.

Beck and Teboulle (SIAM J. Imaging Sci. 2009); Lustig et al. (MRM 2007) for the use in MRI. ``W`` is orthonormal, and
its blocks lie at another, drawn place in every iteration (as in BART), so that they leave no trace in the image.
"""

import math

import torch
from torch import Tensor

from somamba.physics.encoding import coil_maps
from somamba.physics.operator import LinearOperator
from somamba.physics.wavelet import LEVELS, shrink
from somamba.shapes import Images, KSpace

SEED = 0
"""Names the places of the blocks, so that an image repeats."""


@torch.no_grad()
def sparse_image(
    y: KSpace,
    A: LinearOperator,
    sparsity: float | Tensor,
    *,
    start: Images | None = None,
    prior: Images | None = None,
    weight: float | Tensor = 0.0,
    iterations: int = 60,
) -> Images:
    """The image that fits the measurements, is close to a prior one, and is sparse.

    Args:
        y: The measurements, scaled so that the image has a brightness of about 1.
        A: Their operator.
        sparsity: ``lambda``, a number or one for every slice (batch, 1, 1, 1).
        start: Where to begin; by default at the prior image, or at the zero-filled one.
        prior: What to stay close to; needed if ``weight`` is not zero.
        weight: ``mu``, how closely, as for ``sparsity``.
        iterations: How many.
    """
    # Sums over all of k-space are kept in float32 or better, as everywhere in physics.
    with torch.autocast(y.device.type, enabled=False):
        right = A.adjoint(y)
        if prior is not None:
            right = right + weight * prior
        image = start if start is not None else prior if prior is not None else A.adjoint(y)
        step = 1 / (_largest(A) + weight)
        ahead, momentum = image, 1.0
        generator = torch.Generator().manual_seed(SEED)
        for _ in range(iterations):
            rows, columns = torch.randint(2**LEVELS, (2,), generator=generator).tolist()
            descended = ahead - step * (A.gram(ahead) + weight * ahead - right)
            new = shrink(descended, sparsity * step, shift=(rows, columns))
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * (new - image)
            image, momentum = new, following
        return image


def _largest(A: LinearOperator) -> float:
    """A bound of the eigenvalues of ``A^H A``: 1 for maps of unit norm, and without maps."""
    maps = coil_maps(A)
    return 1.0 if maps is None else float(maps.abs().square().flatten(1, -3).sum(dim=1).max())
