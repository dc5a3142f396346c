"""What measurements are divided by before a network sees them. Training and reconstruction must agree on it."""

import numpy as np
from torch import Tensor

from somamba.physics.operator import LinearOperator
from somamba.shapes import KSpace

BRIGHT = 0.99
"""Percentile that stands for the brightness of an image: the maximum would follow a single spike."""


def brightness(image: Tensor) -> float:
    """A robust measure of how bright a magnitude image is."""
    return float(np.quantile(image.cpu().numpy(), BRIGHT))


def zero_filled_scale(y: KSpace, A: LinearOperator) -> float:
    """The brightness of ``|A^H y|``; of the root sum of squares if ``A`` gives one image for every coil.

    It is found from the measurements alone, so it is the same whether or not the whole image is known.
    """
    # The plain formula: no gradient passes here, and it is ten times faster than a complex norm.
    return brightness(A.adjoint(y).abs().square().sum(dim=1).sqrt())
