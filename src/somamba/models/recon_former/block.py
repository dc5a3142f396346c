"""The ReconFormer block: two pyramid layers of transformer blocks, between two norms."""

from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

from somamba.models.recon_former.attention import Memory, PyramidAttention
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.shapes import Grid

Memories = list[Memory | None]


class TransformerBlock(nn.Module):
    """Attention and a token-wise network, each behind a norm and beside a skip."""

    def __init__(self, channels: int, config: ReconFormerConfig, shift: int) -> None:
        super().__init__()
        hidden = config.expansion * channels
        self.norm = nn.LayerNorm(channels)
        self.attention = PyramidAttention(channels, config.heads, config.window, shift)
        self.mix = nn.Sequential(
            nn.LayerNorm(channels), nn.Linear(channels, hidden), nn.GELU(), nn.Linear(hidden, channels)
        )

    def forward(self, grid: Grid, memory: Memory | None) -> tuple[Grid, Memory]:
        """Refine the features; return the attention map to remember."""
        attended, memory = self.attention(self.norm(grid), memory)
        grid = grid + attended
        return grid + self.mix(grid), memory


class PyramidLayer(nn.Module):
    """Transformer blocks, a 3x3 convolution, and a skip around all of them."""

    def __init__(self, channels: int, config: ReconFormerConfig, shifts: list[int]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(TransformerBlock(channels, config, shift) for shift in shifts)
        self.filter = nn.Conv2d(channels, channels, kernel_size=3, padding=1)
        self.recompute = config.recompute

    def forward(self, grid: Grid, memories: Memories) -> tuple[Grid, Memories]:
        """Refine the features; the memories are those of the blocks."""
        refined, remembered = grid, []
        for block, memory in zip(self.blocks, memories, strict=True):
            refined, memory = self._run(block, refined, memory)
            remembered.append(memory)
        return grid + self.filter(refined.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), remembered

    def _run(self, block: nn.Module, grid: Grid, memory: Memory | None) -> Any:
        if self.recompute and self.training:
            return checkpoint(block, grid, memory, use_reentrant=False)
        return block(grid, memory)


class ReconFormerBlock(nn.Module):
    """Two pyramid layers. Every second transformer block shifts its windows by half their side."""

    def __init__(self, channels: int, depth: int, config: ReconFormerConfig) -> None:
        super().__init__()
        half = config.window // 2
        self.depth = depth
        self.enter, self.leave = nn.LayerNorm(channels), nn.LayerNorm(channels)
        # Layers of a single block: the first is not shifted, the second is.
        shifts = [[0], [half]] if depth == 1 else [[half * (i % 2) for i in range(depth)]] * 2
        self.layers = nn.ModuleList(PyramidLayer(channels, config, some) for some in shifts)

    def forward(self, grid: Grid, memories: Memories | None) -> tuple[Grid, Memories]:
        """Refine the features; ``memories`` come from the iteration before, if there was one."""
        memories = memories or [None] * (2 * self.depth)
        features, remembered = self.enter(grid), []
        for i, layer in enumerate(self.layers):
            features, new = layer(features, memories[i * self.depth : (i + 1) * self.depth])
            remembered += new
        return self.leave(features), remembered
