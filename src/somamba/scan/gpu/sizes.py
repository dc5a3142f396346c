"""Sizes of the tiles: chosen by rank, state, width and the architecture of the device. No Triton is needed here."""

from dataclasses import dataclass

ROWS = 64  # Rows of a tile are pairs (token, rank); 64 of them keep every kernel below 48 KiB of shared memory.
SMALLEST = 16  # Triton's matrix product wants at least 16 rows, columns and terms.
LARGEST_STATE = 4096
"""Most numbers in a padded state tile (p times n)."""
TENSOR_CORES = 80
"""First architecture (compute capability times ten) whose tensor cores take TF32; three such products give float32."""


@dataclass(frozen=True)
class Tiles:
    """Compile-time constants of the kernels."""

    T: int
    """Tokens of a chunk."""
    R: int
    """Rank of the scan."""
    RP: int
    """Rank, padded to a power of two."""
    N: int
    """Width of the state."""
    NP: int
    """Width of the state, padded to a power of two of at least 16."""
    P: int
    """Channels of a head."""
    PP: int
    """Channels of a head, padded to a power of two of at least 16."""
    PRECISION: str
    """How a product of two float32 tiles is taken: ``ieee``, or ``tf32x3`` on tensor cores."""


def tiles_for(rank: int, n: int, p: int, architecture: int | None) -> Tiles:
    """Choose the tiles of one scan.

    Args:
        rank: Rank of the scan.
        n: Width of the state.
        p: Channels of a head.
        architecture: Compute capability times ten, 86 for instance; None for Triton's interpreter.
    """
    RP, NP, PP = power_of_two(rank), max(SMALLEST, power_of_two(n)), max(SMALLEST, power_of_two(p))
    rows = ROWS if architecture is None or architecture >= TENSOR_CORES else ROWS // 2
    T = max(1, rows // RP, SMALLEST // RP)
    tensor_cores = architecture is not None and architecture >= TENSOR_CORES
    return Tiles(T, rank, RP, n, NP, p, PP, "tf32x3" if tensor_cores else "ieee")


def why_not_tiles(rank: int, n: int, p: int) -> str | None:
    """Return the reason why a scan of these sizes does not fit into the tiles, or None.

    Args:
        rank: The rank.
        n: The size of the state.
        p: The size of a head.
    """
    tiles = tiles_for(rank, n, p, None)
    if tiles.RP > ROWS:
        return f"its tiles hold at most rank {ROWS}, got {rank}"
    if tiles.NP * tiles.PP > LARGEST_STATE:
        return f"its tiles hold at most {LARGEST_STATE} numbers of p times n (padded), got p={p}, n={n}"
    return None


def power_of_two(size: int) -> int:
    """Return the smallest power of two that is at least ``size``."""
    return 1 << (size - 1).bit_length()
