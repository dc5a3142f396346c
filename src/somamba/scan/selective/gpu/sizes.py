"""Sizes of the tiles of the selective scan. No Triton is needed here."""

from dataclasses import dataclass

from somamba.scan.gpu.sizes import power_of_two

NUMBERS = 512  # of a tile of states, channels times n: four for each thread of four warps
FORWARD, BACKWARD = 64, 16
"""Tokens of a chunk. The backward pass holds the states of a whole chunk, so its chunks are short."""


@dataclass(frozen=True)
class SelectiveTiles:
    """Compile-time constants of the kernels."""

    N: int
    """Width of the state."""
    NP: int
    """Width of the state, padded to a power of two."""
    K: int
    """Channels of a program, a power of two."""


def tiles_for(n: int, channels: int) -> SelectiveTiles:
    """Choose the tiles of one scan.

    Args:
        n: Width of the state.
        channels: Channels of a group.
    """
    NP = power_of_two(n)
    return SelectiveTiles(n, NP, min(power_of_two(channels), max(1, NUMBERS // NP)))


def why_not_tiles(n: int) -> str | None:
    """Return the reason why a scan of this width does not fit into the tiles, or None."""
    return (
        None if power_of_two(n) <= NUMBERS else f"its tiles hold at most {NUMBERS} states for each channel, got n={n}"
    )
