"""The one contract of everything that reconstructs: measurements and their operator in, image out."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from torch import Tensor, nn

from somamba.errors import InputError
from somamba.physics.encoding import check_measurement
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images


class Reconstructor(nn.Module, ABC):
    """A network ``(y, A) -> image``, for any height, width and batch.

    ``y`` is ``(batch, coils, y, x)`` complex. The image is ``(batch, 1, y, x)`` complex; in coil-channel mode it keeps
    the coil axis of ``y``.

    What an unrolled network carries from stage to stage differs (the image, its features, recurrent states), so each
    has a loop of a few lines of its own; `start` is what all of them share.
    """

    coils: int | None = None
    """Image channels that the network was built for: the number of coils in coil-channel mode, else 1; None: any."""

    @abstractmethod
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        """Reconstruct the image that ``A`` measured as ``y``."""

    @property
    def parameter_count(self) -> int:
        """The number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def start(self, y: Tensor, A: LinearOperator) -> Images:
        """Return the zero-filled image ``A^H y``, after all checks; the first thing that ``forward`` does.

        Raises:
            InputError: the network cannot take these measurements, or was built for another number of image channels.
        """
        self.check(y, A)
        x = A.H(y)
        if self.coils is not None and x.shape[1] != self.coils:
            raise InputError(
                f"This network was built for {self.coils} image channel(s), the operator gives {x.shape[1]}. Pass "
                "sensitivity maps to combine the coils, or build the network with coils equal to their number."
            )
        return x

    def parts_to_compile(self) -> Iterable[nn.Module]:
        """Return the modules that ``torch.compile`` takes one by one; by default the network as a whole."""
        return (self,)

    def check(self, y: Tensor, A: LinearOperator) -> None:
        """Refuse measurements that this network cannot take."""
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
