"""Everything that defines an FPS-Former."""

from dataclasses import dataclass

from somamba.errors import ConfigError
from somamba.models.adapters import Mode
from somamba.options import check_at_least, check_words

LEVELS = 4
"""Resolutions of the network, each half of the one above."""


@dataclass(frozen=True, kw_only=True)
class FpsFormerConfig:
    """The network of the paper; ``docs/models/fps_former.md`` says what was decided and why."""

    coils: int = 1
    """Image channels: the number of coils in coil-channel mode, else 1."""
    mode: Mode = "+dc"
    """``+dc`` is the paper, whose figure ends in data consistency; ``as_published`` is the released code without it."""
    channels: int = 48
    """Features at full resolution; every level below has twice as many."""
    blocks: tuple[int, int, int, int] = (1, 2, 2, 1)
    """Transformer blocks at each level on the way down; the way up mirrors the upper three."""
    heads: tuple[int, int, int, int] = (1, 2, 4, 8)
    """Heads of the attention inside windows, at each level."""
    window: int = 8
    """Side of the attention windows."""
    bands: int = 3
    """Frequency bands that modulate the features: the features themselves and differences of their blurs."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, coils=1, channels=2, window=2, bands=1, blocks=1, heads=1)
        if len(self.blocks) != LEVELS or len(self.heads) != LEVELS:
            raise ConfigError(
                f"blocks={self.blocks} and heads={self.heads} need one number for each of {LEVELS} levels."
            )
        for level, heads in enumerate(self.heads):
            if (self.channels << level) % heads:
                raise ConfigError(
                    f"Level {level} cannot be built: heads={heads} must divide its {self.channels << level} channels."
                )
        if self.channels % 2:
            raise ConfigError(f"channels={self.channels} is odd; each step down needs half of them.")
