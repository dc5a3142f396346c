"""TransUNet: a ResNet, a transformer on its coarsest features, a decoder with skips (Chen et al. 2021).

It sees the zero-filled image and nothing else. The default is R50-ViT-B/16, without pretrained weights.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from somamba.errors import ConfigError
from somamba.models.adapters import ImageNetwork, Mode
from somamba.models.layers.precision import full
from somamba.options import check_at_least, check_probability, check_words

PATCH = 16  # pixels to a token, along either axis; the ResNet halves the resolution four times
Tokens = Float[Tensor, "batch tokens d_model"]
Features = Float[Tensor, "batch _ _ _"]


@dataclass(frozen=True, kw_only=True)
class TransUNetConfig:
    """TransUNet. The defaults are R50-ViT-B/16: 105.4 M parameters."""

    width: int = 64
    """Channels of the first convolution; the three stages of the ResNet are 4, 8 and 16 times as wide."""
    units: tuple[int, int, int] = (3, 4, 9)
    """Bottleneck units of each stage."""
    norm_groups: int = 32
    """Groups of the group norms; divides the width."""
    d_model: int = 768
    """Width of the tokens."""
    d_hidden: int = 3072
    """Width of the hidden layer behind each attention."""
    heads: int = 12
    """Heads of each attention; divides d_model."""
    layers: int = 12
    """The number of transformer layers."""
    positions: int = 20
    """Side of the learned table of positions, 320 / 16; interpolated if the image has another number of tokens."""
    decoder: tuple[int, int, int, int, int] = (512, 256, 128, 64, 16)
    """Channels of the decoder, from 1/16 of the resolution to all of it."""
    dropout: float = 0.1
    """Share of the activations that training drops behind the embedding and in the hidden layers."""
    residual: bool = False
    """Let the network give a correction of the zero-filled image instead of the image."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    mode: Mode = "as_published"
    """The network alone, or with data consistency behind it."""

    def __post_init__(self) -> None:
        check_words(self)
        sizes = (
            "width",
            "units",
            "norm_groups",
            "d_model",
            "d_hidden",
            "heads",
            "layers",
            "positions",
            "decoder",
            "coils",
        )
        check_at_least(self, **dict.fromkeys(sizes, 1))
        check_probability(self, "dropout")
        if self.width % self.norm_groups:
            raise ConfigError(f"norm_groups={self.norm_groups} does not divide width={self.width}; choose a divisor.")
        if self.d_model % self.heads:
            raise ConfigError(f"heads={self.heads} does not divide d_model={self.d_model}; choose a divisor.")


class StandardisedConvolution(nn.Conv2d):
    """A convolution without bias, each of its filters at zero mean and unit variance."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int) -> None:
        super().__init__(inside, outside, kernel, stride=stride, padding=kernel // 2, bias=False)

    @override
    def forward(self, features: Features) -> Features:
        return self._conv_forward(features, F.layer_norm(self.weight, self.weight.shape[1:]), None)


class Grouped(nn.Module):
    """A standardised convolution and a group norm."""

    def __init__(
        self, inside: int, outside: int, kernel: int = 1, *, stride: int = 1, groups: int, eps: float = 1e-6
    ) -> None:
        super().__init__()
        self.convolution = StandardisedConvolution(inside, outside, kernel, stride)
        self.norm = nn.GroupNorm(groups, outside, eps=eps)

    def forward(self, features: Features) -> Features:
        """Return the filtered and normed features."""
        return self.norm(full(self.convolution(features)))


class Bottleneck(nn.Module):
    """Fewer channels, a 3x3 convolution, four times as many; and a shortcut around it."""

    def __init__(self, inside: int, middle: int, *, stride: int = 1, groups: int) -> None:
        super().__init__()
        outside = 4 * middle
        self.narrow = Grouped(inside, middle, groups=groups)
        self.filter = Grouped(middle, middle, 3, stride=stride, groups=groups)
        self.widen = Grouped(middle, outside, groups=groups)
        # One group for each channel, as in TransUNet's code; the ResNet it goes back to has 32 groups.
        self.shortcut = (
            nn.Identity()
            if inside == outside and stride == 1
            else Grouped(inside, outside, stride=stride, groups=outside, eps=1e-5)
        )

    def forward(self, features: Features) -> Features:
        """Refine; a stride of 2 halves the resolution."""
        inner = F.relu(self.filter(F.relu(self.narrow(features))))
        return F.relu(self.shortcut(features) + self.widen(inner))


class ResNet(nn.Module):
    """The convolutional half of the encoder."""

    def __init__(self, channels: int, width: int, units: tuple[int, int, int], groups: int) -> None:
        super().__init__()
        self.stem = Grouped(channels, width, 7, stride=2, groups=groups)
        # The last window of an even side is cut off, not left out: half the side, whatever it is.
        self.pool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.stages = nn.ModuleList()
        inside = width
        for depth, count in enumerate(units):
            middle = width * 2**depth
            first = Bottleneck(inside, middle, stride=1 if depth == 0 else 2, groups=groups)
            inside = 4 * middle
            self.stages.append(
                nn.Sequential(first, *(Bottleneck(inside, middle, groups=groups) for _ in range(count - 1)))
            )

    def forward(self, image: Features) -> list[Features]:
        """Features at 1/2, 1/4, 1/8 and 1/16 of the resolution."""
        features = [F.relu(self.stem(image))]
        coarser = self.pool(features[0])
        for stage in self.stages:
            coarser = stage(coarser)
            features.append(coarser)
        return features


class Attention(nn.Module):
    """Self-attention between all tokens, in several heads."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(d_model, 3 * d_model)
        self.merge = nn.Linear(d_model, d_model)

    def forward(self, tokens: Tokens) -> Tokens:
        """``softmax(Q K^T / sqrt d) V`` in each head, and a linear map of all heads together."""
        query, key, value = rearrange(self.project(tokens), "b n (three h d) -> three b h n d", three=3, h=self.heads)
        answer = F.scaled_dot_product_attention(query, key, value)
        return self.merge(rearrange(answer, "b h n d -> b n (h d)"))


class Layer(nn.Module):
    """Attention, then two linear layers, each with a norm before and a residual around it."""

    def __init__(self, d_model: int, d_hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model, eps=1e-6)
        self.attention = Attention(d_model, heads)
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.widen = nn.Linear(d_model, d_hidden)
        self.narrow = nn.Linear(d_hidden, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.widen, self.narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, tokens: Tokens) -> Tokens:
        """Return the tokens after attention and the two linear layers."""
        tokens = tokens + self.attention(self.attention_norm(tokens))
        hidden = self.dropout(F.gelu(full(self.widen(self.norm(tokens)))))
        return tokens + self.dropout(self.narrow(hidden))


class Transformer(nn.Module):
    """The other half of the encoder: coarse features as tokens with learned positions."""

    def __init__(self, inside: int, config: TransUNetConfig) -> None:
        super().__init__()
        self.embed = nn.Conv2d(inside, config.d_model, kernel_size=1)
        self.position = nn.Parameter(torch.zeros(1, config.d_model, config.positions, config.positions))
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.Sequential(
            *(Layer(config.d_model, config.d_hidden, config.heads, config.dropout) for _ in range(config.layers))
        )
        self.norm = nn.LayerNorm(config.d_model, eps=1e-6)

    def forward(self, features: Features) -> Features:
        """Return the features after all transformer layers."""
        rows, columns = features.shape[-2:]
        tokens = rearrange(self.embed(features) + self.position_on(rows, columns), "b c y x -> b (y x) c")
        tokens = self.norm(self.layers(self.dropout(tokens)))
        return rearrange(tokens, "b (y x) c -> b c y x", y=rows)

    def position_on(self, rows: int, columns: int) -> Float[Tensor, "1 d_model {rows} {columns}"]:
        """The table of positions, stretched from corner to corner over a grid of tokens."""
        return F.interpolate(self.position, size=(rows, columns), mode="bilinear", align_corners=True)


class Decode(nn.Module):
    """A 3x3 convolution, batch norm, ReLU."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inside, outside, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outside)

    def forward(self, features: Features) -> Features:
        """Return the filtered, normed and activated features."""
        return F.relu(self.norm(full(self.convolution(features))))


class TransUNet(ImageNetwork):
    """ResNet and transformer down to 1/16 of the resolution, and four steps back up."""

    def __init__(self, config: TransUNetConfig | None = None) -> None:
        config = config or TransUNetConfig()
        # More than one token: fewer give the norms no variance, and attention nothing to choose from.
        super().__init__(coils=config.coils, mode=config.mode, multiple=PATCH, smallest=2 * PATCH)
        self.config = config
        width, channels = config.width, 2 * config.coils
        self.resnet = ResNet(channels, width, config.units, config.norm_groups)
        self.transformer = Transformer(16 * width, config)
        self.coarsest = Decode(config.d_model, config.decoder[0])
        skips = (8 * width, 4 * width, width, 0)
        self.up = nn.ModuleList(
            nn.Sequential(Decode(below + skip, here), Decode(here, here))
            for below, skip, here in zip(config.decoder[:-1], skips, config.decoder[1:], strict=True)
        )
        self.to_image = nn.Conv2d(config.decoder[-1], channels, kernel_size=3, padding=1)

    @override
    def refine(self, image: Float[Tensor, "batch channels y x"]) -> Float[Tensor, "batch channels y x"]:
        *skips, coarse = self.resnet(image)
        features = self.coarsest(self.transformer(coarse))
        for up in self.up:
            features = F.interpolate(features, scale_factor=2, mode="bilinear", align_corners=True)
            features = up(torch.cat((features, skips.pop()), dim=1) if skips else features)
        result = self.to_image(features)
        return image + result if self.config.residual else result
