"""U-Net, as the fastMRI baseline has it (Ronneberger et al. 2015; Zbontar et al. 2018).

It sees the zero-filled image and nothing else: no measurements, no data consistency.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.models.adapters import ImageNetwork, Mode
from somamba.models.layers.precision import full
from somamba.options import check_at_least, check_probability, check_words

SLOPE = 0.2  # the slope of the LeakyReLU below zero


@dataclass(frozen=True, kw_only=True)
class UNetConfig:
    """U-Net. The defaults are fastMRI's: 7.76 M parameters."""

    channels: int = 32
    """Channels at full resolution; every pool doubles them."""
    pools: int = 4
    """How often the resolution is halved, and restored."""
    dropout: float = 0.0
    """Share of the channels that training drops behind each convolution."""
    residual: bool = False
    """Let the network give a correction of the zero-filled image instead of the image."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    mode: Mode = "as_published"
    """The network alone, or with data consistency behind it."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, channels=1, pools=1, coils=1)
        check_probability(self, "dropout")


class Normalised(nn.Module):
    """A convolution, each of its channels at zero mean and unit variance, LeakyReLU."""

    def __init__(self, convolution: nn.Conv2d | nn.ConvTranspose2d) -> None:
        super().__init__()
        self.convolution = convolution
        self.norm = nn.InstanceNorm2d(convolution.out_channels)

    def forward(self, features: Float[Tensor, "batch _ _ _"]) -> Float[Tensor, "batch _ _ _"]:
        """Return the filtered, normed and activated features."""
        return F.leaky_relu(self.norm(full(self.convolution(features))), SLOPE)


def level(inside: int, outside: int, dropout: float) -> nn.Sequential:
    """What happens at one resolution: two 3x3 convolutions.

    Args:
        inside: The channels that come in.
        outside: The channels that go out.
        dropout: The probability of a channel to be dropped.
    """
    return nn.Sequential(
        Normalised(nn.Conv2d(inside, outside, kernel_size=3, padding=1, bias=False)),
        nn.Dropout2d(dropout),
        Normalised(nn.Conv2d(outside, outside, kernel_size=3, padding=1, bias=False)),
        nn.Dropout2d(dropout),
    )


class UNet(ImageNetwork):
    """Down by averaging, up by transposed convolution, with a skip at every resolution."""

    def __init__(self, config: UNetConfig | None = None) -> None:
        config = config or UNetConfig()
        # The coarsest level needs more than one pixel, else its channels have no variance to be normalised by.
        multiple = 2**config.pools
        super().__init__(coils=config.coils, mode=config.mode, multiple=multiple, smallest=2 * multiple)
        self.config = config
        widths = [config.channels * 2**depth for depth in range(config.pools + 1)]
        ins = [2 * config.coils, *widths]
        self.down = nn.ModuleList(level(ins[i], widths[i], config.dropout) for i in range(config.pools))
        self.coarsest = level(ins[-2], widths[-1], config.dropout)
        self.finer = nn.ModuleList(
            Normalised(nn.ConvTranspose2d(2 * width, width, kernel_size=2, stride=2, bias=False))
            for width in reversed(widths[:-1])
        )
        self.up = nn.ModuleList(level(2 * width, width, config.dropout) for width in reversed(widths[:-1]))
        self.to_image = nn.Conv2d(config.channels, 2 * config.coils, kernel_size=1)

    @override
    def refine(self, image: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        features, skips = image, []
        for down in self.down:
            features = down(features)
            skips.append(features)
            features = F.avg_pool2d(features, 2)
        features = self.coarsest(features)
        for finer, up in zip(self.finer, self.up, strict=True):
            features = up(torch.cat((finer(features), skips.pop()), dim=1))
        result = self.to_image(features)
        return image + result if self.config.residual else result
