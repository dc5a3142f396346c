"""One SO-Mamba unit: norm, router, ownership block, residual (Fig. 1b)."""

from torch import nn

from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.ownership import OwnershipBlock
from somamba.models.so_mamba.router import Router, Streams
from somamba.models.so_mamba.streaming import can_stream, is_compiled, stream
from somamba.shapes import Grid


class Unrouted(nn.Module):
    """The plain Mamba regularizer: no split, all features become content and there is no evidence."""

    def __init__(self, channels: int, d_model: int) -> None:
        super().__init__()
        self.to_content = nn.Linear(channels, d_model)

    def forward(self, features: Grid) -> Streams:
        """Return the content in the place of L, and no G."""
        return Streams(self.to_content(features), None)


class Unit(nn.Module):
    """``X + Y``: the streams of the normed features, through the ownership block, added back."""

    def __init__(self, config: SOMambaConfig, order: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.channels)
        routing, evidence = config.router, config.routes.evidence
        self.router: Router | Unrouted = (
            Router(config.channels, config.d_model, routing.projection, routing.compaction, evidence=evidence)
            if config.routes.router
            else Unrouted(config.channels, config.d_model)
        )
        self.block = OwnershipBlock(config, order)
        self.compiled = is_compiled(config, order)

    def forward(self, features: Grid) -> Grid:
        """Refine the features of one stage."""
        parts = (self.norm, self.router, self.block)
        if self.compiled and can_stream(*parts, features):
            return stream(*parts, features)
        carrier, evidence = self.router(self.norm(features))
        return self.block(features, carrier, evidence)
