"""The one contract of everything that reconstructs: measurements and their operator in, image out."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from somamba.errors import InputError
from somamba.physics.encoding import check_measurement
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images


class Reconstructor(nn.Module, ABC):
    """A network ``(y, A) -> image``, for any height, width and batch.

    ``y`` is ``(batch, coils, y, x)`` complex. The image is ``(batch, 1, y, x)`` complex; in coil-channel mode it keeps
    the coil axis of ``y``.
    """

    @abstractmethod
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        """Reconstruct the image that ``A`` measured as ``y``."""

    def check(self, y: Tensor, A: LinearOperator) -> None:
        """Refuse measurements that this network cannot take; the first thing that ``forward`` does."""
        check_measurement(y, A)
        weights = next(self.parameters(), None)
        if weights is None:
            return
        if weights.dtype != y.dtype.to_real():
            raise InputError(
                f"The measurements are {y.dtype}, the weights of the network {weights.dtype}; they must have the same "
                f"precision. Try y.to(torch.{str(weights.dtype.to_complex()).removeprefix('torch.')})."
            )
        if weights.device != y.device:
            raise InputError(
                f"The measurements are on {y.device}, the network on {weights.device}; move them together."
            )
