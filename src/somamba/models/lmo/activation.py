"""LeakyReLU without aliasing: at twice the sampling rate, between two low-pass filters (StyleGAN3, CNO).

The filters are those of the public code: 12 taps, cut off where the original grid has its highest frequency.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

TAPS = 12
CUTOFF = 1 / 2.0001  # as a share of the doubled grid's highest frequency: hardly below the original grid's
TRANSITION = 2 * (0.8 - CUTOFF)  # width of the transition band, in the same unit
SLOPE = 0.2
GAIN = math.sqrt(2)


def low_pass() -> Tensor:
    """Windowed sinc of unit sum; the Kaiser window follows from length and transition band (Kaiser's formula)."""
    attenuation = 2.285 * (TAPS - 1) * math.pi * TRANSITION + 7.95
    beta = 0.1102 * (attenuation - 8.7)
    window = torch.kaiser_window(TAPS, periodic=False, beta=beta, dtype=torch.float64)
    place = torch.arange(TAPS, dtype=torch.float64) - (TAPS - 1) / 2
    taps = torch.sinc(CUTOFF * place) * window
    return taps / taps.sum()


class FilteredLeakyReLU(nn.Module):
    """Bias, twice finer, LeakyReLU, and back.

    The finer grid is never laid out: its even and odd places stay apart as phases, two for each axis, and each filter
    is a convolution of six taps for each phase. One channel at a time; outside of the image lies zero.
    """

    rise: Tensor
    fall: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        phases = low_pass().float().view(TAPS // 2, 2).T
        # A zero lies between any two samples of the finer grid: twice the gain for each axis makes up for them.
        self.register_buffer("rise", 2 * phases.flip(1), persistent=False)
        self.register_buffer("fall", phases.contiguous(), persistent=False)

    def forward(self, features: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        """Activate; same size out as in."""
        maps = (features + self.bias.view(-1, 1, 1)).flatten(0, 1)[:, None]
        taps = TAPS // 2
        maps = F.conv2d(maps, self.rise.view(2, 1, 1, taps), padding=(0, taps - 1))
        maps = F.conv2d(maps, self.rise.repeat(2, 1).view(4, 1, taps, 1), padding=(taps - 1, 0), groups=2)
        maps = GAIN * F.leaky_relu(maps, SLOPE)
        maps = F.conv2d(maps, self.fall.repeat(2, 1).view(2, 2, taps, 1), groups=2)
        return F.conv2d(maps, self.fall.view(1, 2, 1, taps)).view(features.shape)
