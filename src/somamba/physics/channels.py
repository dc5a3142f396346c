"""Complex images outside networks, real channels inside: the only bridge between the two.

Channels hold all real parts first, then all imaginary parts: ``re_1 .. re_n, im_1 .. im_n``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from somamba.errors import InputError
from somamba.shapes import CoilImages


def to_channels(image: CoilImages) -> Float[Tensor, "batch 2*coils y x"]:
    """Split every complex image into a real and an imaginary channel; exactly undone by `to_complex`."""
    return torch.cat((image.real, image.imag), dim=1)


def to_complex(channels: Float[Tensor, "batch channels y x"]) -> Tensor:
    """Join real and imaginary channels to complex images; exactly undone by `to_channels`.

    Half precision (a network under autocast) becomes float32 first: everything behind this bridge is physics.

    Raises:
        InputError: the number of channels is odd.
    """
    if channels.shape[1] % 2:
        raise InputError(
            f"Complex images need an even number of channels (real, then imaginary parts), got {channels.shape[1]}. "
            "Let the network end in two channels for every image."
        )
    if channels.dtype not in (torch.float32, torch.float64):
        channels = channels.float()
    real, imaginary = channels.chunk(2, dim=1)
    return torch.complex(real, imaginary)
