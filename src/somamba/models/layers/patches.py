"""Between pixels and tokens: a patch of the image becomes a token, a token becomes a patch of finer ones."""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from somamba.shapes import Grid

Pixels = Float[Tensor, "batch y x _"]


class PatchEmbedding(nn.Module):
    """One normed token for each patch: a convolution with kernel = stride = patch, then a layer norm."""

    def __init__(self, images: int, patch: int, channels: int) -> None:
        super().__init__()
        self.project = nn.Conv2d(images, channels, kernel_size=patch, stride=patch)
        self.norm = nn.LayerNorm(channels)

    def forward(self, image: Float[Tensor, "batch images y x"]) -> Grid:
        """Turn an image whose sides are multiples of the patch into tokens."""
        return self.norm(rearrange(self.project(image), "b c y x -> b y x c"))


class PatchExpansion(nn.Module):
    """Every token becomes a patch of tokens (or pixels): one bias-free matrix."""

    def __init__(self, channels: int, patch: int, finer: int) -> None:
        """Build for tokens of ``channels`` that become ``patch * patch`` of ``finer`` channels."""
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(channels, patch * patch * finer, bias=False)

    def forward(self, grid: Grid) -> Pixels:
        """Expand every token into a patch."""
        return rearrange(self.project(grid), "b y x (p q c) -> b (y p) (x q) c", p=self.patch, q=self.patch)
