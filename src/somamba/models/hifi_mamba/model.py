"""HiFi-Mamba: two streams, a low band that is scanned and a high band that guides it (Fang et al. 2025).

x  image        X  features: the high stream, then the low stream        y, A  measurements and their operator
"""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn
from typing_extensions import override

from somamba.errors import InputError
from somamba.models.adapters import pad_to_multiple
from somamba.models.base import Reconstructor
from somamba.models.hifi_mamba.bands import Bottleneck, ChannelGate, Laplacian
from somamba.models.hifi_mamba.config import HiFiMambaConfig
from somamba.models.hifi_mamba.mixer import Mixer
from somamba.models.layers.drop_path import DropPath, rising_rates
from somamba.models.layers.initial import start_linear_layers
from somamba.models.layers.patches import PatchEmbedding, PatchExpansion
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import CONSISTENCIES
from somamba.physics.operator import LinearOperator
from somamba.shapes import Grid, Images

SMALLEST_GRID = 3  # tokens; the reflected edge of the binomial filter needs that many


class Unit(nn.Module):
    """Split the bands of the low stream, scan the low one under guidance of the high one, gate, add back."""

    def __init__(self, config: HiFiMambaConfig, drop_rate: int | float) -> None:
        super().__init__()
        stream, parts = config.channels // 2, config.parts
        self.split = Laplacian(stream, parts.expansion, config.band)
        self.guide = Bottleneck(stream, parts.expansion)
        self.refine = Bottleneck(stream, parts.expansion)
        self.norm_low = nn.LayerNorm(stream)
        self.norm_high = nn.LayerNorm(stream)
        self.mix = Mixer(stream, config.d_state, config.dropout, config.backend)
        self.gate = ChannelGate(config.channels, pooled=parts.pooled_gate)
        self.drop_path = DropPath(drop_rate)

    def forward(self, features: Grid) -> Grid:
        """Refine the features of one stage."""
        high, low = rearrange(features, "b y x c -> b c y x").chunk(2, dim=1)
        low, rejected = self.split(low)
        high = self.guide(high + rejected)
        low, guide = (rearrange(stream, "b c y x -> b y x c") for stream in (low, high))
        mixed = rearrange(self.mix(self.norm_low(low), self.norm_high(guide)), "b y x c -> b c y x")
        update = self.drop_path(self.gate(torch.cat((self.refine(high), mixed), dim=1)))
        return features + rearrange(update, "b c y x -> b y x c")


class ImageConsistency(nn.Module):
    """Features to image, and data consistency there."""

    def __init__(self, config: HiFiMambaConfig) -> None:
        super().__init__()
        self.to_pixels = PatchExpansion(config.channels, config.patch, 2 * config.coils)
        self.consistency = CONSISTENCIES["auto"]()

    def forward(self, features: Grid, y: Tensor, A: LinearOperator) -> Images:
        """Return an image of the size of the measurements.

        Args:
            features: The features of all channels.
            y: The measurements.
            A: How they were measured.
        """
        height, width = y.shape[-2:]
        pixels = rearrange(self.to_pixels(features), "b y x c -> b c y x")
        return self.consistency(to_complex(pixels[..., :height, :width]), y, A)


class Group(nn.Module):
    """One stage: units, then ``X + embed(SiLU(DC(image of X)))``."""

    def __init__(self, config: HiFiMambaConfig, drop_rates: list[float]) -> None:
        super().__init__()
        self.units = nn.Sequential(*(Unit(config, rate) for rate in drop_rates))
        self.to_image = ImageConsistency(config)
        self.embed = PatchEmbedding(2 * config.coils, config.patch, config.channels)
        self.multiple = 2 * config.patch

    def forward(self, features: Grid, y: Tensor, A: LinearOperator) -> Grid:
        """Refine the features, then add what data consistency makes of their image.

        Args:
            features: The features of all channels.
            y: The measurements.
            A: How they were measured.
        """
        features = self.units(features)
        x = pad_to_multiple(to_channels(self.to_image(features, y, A)), self.multiple)
        return features + self.embed(F.silu(x))


class HiFiMamba(Reconstructor):
    """HiFi-Mamba: unrolled in feature space, closed by data consistency."""

    def __init__(self, config: HiFiMambaConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or HiFiMambaConfig()
        self.coils = self.config.coils
        rates = rising_rates(config.drop_path, config.stages * config.units)
        self.embed = PatchEmbedding(2 * config.coils, config.patch, config.channels)
        self.groups = nn.ModuleList(
            Group(config, rates[start : start + config.units]) for start in range(0, len(rates), config.units)
        )
        self.norm = nn.LayerNorm(config.channels)
        self.to_image = ImageConsistency(config)
        start_linear_layers(self)

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        x = self.start(y, A)
        image = pad_to_multiple(to_channels(x), 2 * self.config.patch)
        self._check_size(image)
        features = self.embed(image)
        for group in self.groups:
            features = group(features, y, A)
        return self.to_image(self.norm(features), y, A)

    def _check_size(self, image: Tensor) -> None:
        smallest = SMALLEST_GRID * self.config.patch
        if self.config.band == "binomial" and min(image.shape[-2:]) < smallest:
            raise InputError(
                f"The release of HiFi-Mamba with patch {self.config.patch} wants images larger than "
                f"{2 * self.config.patch}x{2 * self.config.patch}. Pad the k-space, or choose variant='paper'."
            )
