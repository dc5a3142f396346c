"""SO-Mamba: six groups of two units, each closed by data consistency (Eqs. 1-2 and 25, Fig. 1a).

x  image        X  features of one stage        Phi, Psi  image to features and back
"""

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from somamba.errors import InputError
from somamba.models.base import Reconstructor
from somamba.models.layers.sample_weights import SampleWeights
from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.streaming import compiled_end
from somamba.models.so_mamba.unit import Unit
from somamba.native.ends import decode, embed
from somamba.native.weights import layer_weights
from somamba.physics.channels import to_channels, to_complex
from somamba.physics.consistency import make_consistency
from somamba.physics.operator import LinearOperator
from somamba.shapes import Grid, Images, KSpace

SMALLEST_GRID = 3  # tokens; the carrier's reflect padding needs that many


class Embedding(nn.Module):
    """Phi: one token for each patch of the image. A convolution with kernel = stride = patch, written as one matrix."""

    def __init__(self, images: int, patch: int, channels: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(2 * images * patch * patch, channels)
        self.norm = nn.LayerNorm(channels)

    def forward(self, image: Tensor) -> Grid:
        """Turn real channels ``(batch, 2 * images, y, x)`` into features."""
        patches = rearrange(image, "b c (y p) (x q) -> b y x (c p q)", p=self.patch, q=self.patch)
        if compiled_end(self.project, self.norm, patches):
            return embed(patches, layer_weights(self.project), layer_weights(self.norm), self.norm.eps)
        return self.norm(self.project(patches))


class Decoder(nn.Module):
    """Psi: norm, linear, patches back to pixels. It starts at zero, so an untrained group changes nothing."""

    def __init__(self, images: int, patch: int, channels: int) -> None:
        super().__init__()
        self.patch = patch
        self.norm = nn.LayerNorm(channels)
        self.project = nn.Linear(channels, 2 * images * patch * patch)
        nn.init.zeros_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, features: Grid) -> Tensor:
        """Turn features into an update of the image."""
        if compiled_end(self.project, self.norm, features):
            patches = decode(features, layer_weights(self.norm), layer_weights(self.project), self.norm.eps)
        else:
            patches = self.project(self.norm(features))
        return rearrange(patches, "b y x (c p q) -> b c (y p) (x q)", p=self.patch, q=self.patch)


class Group(nn.Module):
    """One unrolled stage: ``z = x + Psi(units(Phi(x)))``, then data consistency (Eq. 2)."""

    def __init__(self, config: SOMambaConfig) -> None:
        super().__init__()
        self.embed = Embedding(config.coils, config.patch, config.channels)
        orders = [config.scan_orders[i % len(config.scan_orders)] for i in range(config.units)]
        self.units = nn.ModuleList(Unit(config, order) for order in orders)
        self.decode = Decoder(config.coils, config.patch, config.channels)
        self.consistency = make_consistency(
            config.consistency, iterations=config.cg_iterations, tolerance=config.cg_tolerance
        )
        self.weigh = SampleWeights() if config.weighted_samples else None
        self.recompute = config.recompute

    def forward(self, x: Images, y: KSpace, A: LinearOperator, carried: Grid | None) -> tuple[Images, Grid]:
        """Return the next image, and this stage's features.

        Args:
            x: The image.
            y: The measurements.
            A: How they were measured.
            carried: The features of the stage before, None if there are none.
        """
        height, width = x.shape[-2:]
        spare = (0, -width % self.embed.patch, 0, -height % self.embed.patch)
        features = self.embed(F.pad(to_channels(x), spare, mode="replicate"))
        if carried is not None:
            features = features + carried
        for unit in self.units:
            features = checkpoint(unit, features, use_reentrant=False) if self._recomputes() else unit(features)
        update = self.decode(features)[..., :height, :width]
        if self.weigh is not None:
            y, A = self.weigh(y, A)
        return self.consistency(x + to_complex(update), y, A), features

    def _recomputes(self) -> bool:
        return self.recompute and self.training


class SOMamba(Reconstructor):
    """State-Ownership Mamba for unrolled MRI reconstruction."""

    def __init__(self, config: SOMambaConfig | None = None) -> None:
        super().__init__()
        self.config = config or SOMambaConfig()
        self.coils = self.config.coils
        self.groups = nn.ModuleList(Group(self.config) for _ in range(self.config.groups))

    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        """Start from the zero-filled image and refine it group by group."""
        x = self.start(y, A)
        self._check_size(x)
        carried: Grid | None = None
        for group in self.groups:
            x, features = group(x, y, A, carried)
            carried = features if self.config.carry_features else None
        return x

    @override
    def parts_to_compile(self) -> list[Unit]:
        """Return the units: groups end in data consistency, whose complex numbers gain nothing."""
        return [module for module in self.modules() if isinstance(module, Unit)]

    def _check_size(self, x: Images) -> None:
        smallest = SMALLEST_GRID * self.config.patch - (self.config.patch - 1)
        if min(x.shape[-2:]) < smallest:
            raise InputError(
                f"SO-Mamba with patch {self.config.patch} wants images of at least {smallest}x{smallest}, got "
                f"{x.shape[-2]}x{x.shape[-1]}. Pad the k-space, or build the network with a smaller patch."
            )
