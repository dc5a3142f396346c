"""What measurements are divided by before a network sees them. Training and reconstruction must agree on it.

Neither the brightness of a scan nor its constant phase means anything: receivers have any gain and begin at any phase.
A network that always sees the same of both has less to learn, and its image does not depend on either.
"""

import cmath

import numpy as np
from torch import Tensor

from somamba.physics.operator import LinearOperator
from somamba.shapes import Images, KSpace

BRIGHT = 0.99
"""Percentile that stands for the brightness of an image: the maximum would follow a single spike."""


def brightness(image: Tensor) -> float:
    """A robust measure of how bright a magnitude image is."""
    return float(np.quantile(image.cpu().numpy(), BRIGHT))


def zero_filled_scale(y: KSpace, A: LinearOperator) -> complex:
    """The brightness and the phase of ``A^H y``, of one slice; with an image for every coil, of all of them together.

    It is found from the measurements alone, so it is the same whether or not the whole image is known. Its magnitude is
    the brightness, of the root sum of squares if there are several images. Divided by it, ``A^H y`` has brightness 1,
    most of its energy in the real part, and a real part whose sum is not negative.
    """
    images = A.adjoint(y)
    # The plain formula: no gradient passes here, and it is ten times faster than a complex norm.
    return cmath.rect(brightness(images.abs().square().sum(dim=1).sqrt()), _phase(images))


def _phase(images: Images) -> float:
    """The angle of the line in the complex plane along which the values spread most, in the direction of their sum."""
    angle = cmath.phase(complex(images.square().sum())) / 2
    along = complex(images.sum()) * cmath.rect(1, -angle)
    return angle if along.real >= 0 else angle + cmath.pi
