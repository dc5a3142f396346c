"""What networks on real channels need to keep the contract of `Reconstructor`: any size, any mode, data consistency."""

from abc import abstractmethod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import CONSISTENCIES
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images

Mode = Literal["as_published", "+dc"]
"""The form of an image-domain network: as its public code has it, or with data consistency behind it."""


class ImageNetwork(Reconstructor):
    """A network that sees the zero-filled image only; mode ``+dc`` then brings its output back to the measurements."""

    def __init__(self, *, coils: int, mode: Mode, multiple: int, smallest: int = 1) -> None:
        """Run `refine` on the zero-filled image.

        Args:
            coils: Image channels: the number of coils in coil-channel mode, else 1.
            mode: With or without data consistency at the end.
            multiple: What both sides of the image must be divisible by; others are padded by reflection and cropped.
            smallest: The smallest side that `refine` can take, a multiple too; smaller images are padded likewise.
        """
        super().__init__()
        self.coils = coils
        self.multiple = multiple
        self.smallest = smallest
        self.consistency = CONSISTENCIES["auto"]() if mode == "+dc" else None

    @abstractmethod
    def refine(self, image: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        """Turn real channels of the zero-filled image into those of the result; sides are multiples already."""

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        x = self.start(y, A)
        height, width = x.shape[-2:]
        refined = self.refine(pad_to_multiple(to_channels(x), self.multiple, self.smallest))
        image = to_complex(refined[..., :height, :width])
        return image if self.consistency is None else self.consistency(image, y, A)


def pad_to_multiple(image: Tensor, multiple: int, smallest: int = 1) -> Tensor:
    """Extend the last two axes at their end, by reflection, to the next multiple that is not below the smallest.

    Args:
        image: The image.
        multiple: Rows and columns become multiples of this.
        smallest: The least number of rows and columns.
    """
    for axis in (-2, -1):
        size = image.shape[axis]
        longer = max(size, smallest)
        if extra := longer + -longer % multiple - size:
            image = torch.cat((image, image.index_select(axis, _reflected(size, extra, image.device))), axis)
    return image


def _reflected(size: int, extra: int, device: torch.device) -> Tensor:
    """The indices that reflect an axis at its end, back and forth, without repeating the edge."""
    if size == 1:
        return torch.zeros(extra, dtype=torch.long, device=device)
    period = 2 * (size - 1)
    place = torch.arange(size, size + extra, device=device) % period
    return torch.where(place < size, place, period - place)
