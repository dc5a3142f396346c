"""The one contract of everything that reconstructs: measurements and their operator in, image out."""

from abc import ABC, abstractmethod

from torch import nn

from somamba.physics.operator import LinearOperator
from somamba.shapes import Images, KSpace


class Reconstructor(nn.Module, ABC):
    """A network ``(y, A) -> image``, for any height, width and batch.

    The image is ``(batch, 1, y, x)`` complex; in coil-channel mode it keeps the coil axis of ``y``.
    """

    @abstractmethod
    def forward(self, y: KSpace, A: LinearOperator) -> Images:
        """Reconstruct the image that ``A`` measured as ``y``."""
