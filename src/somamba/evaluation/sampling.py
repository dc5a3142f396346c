"""How the slices of a case were sampled: which mask, and how much of k-space it took.

Numbers of one slice are integers in a tensor, because several processes share the slices and sums are how they meet.
"""

import hashlib
from typing import NamedTuple

from jaxtyping import Int64
from torch import Tensor

from somamba.physics.masks import SamplingMask

FACTS = 3
"""Numbers that `sampled` has for a slice."""


class Sampled(NamedTuple):
    """What a row says about the masks of a case; see `somamba.evaluation.rows.Row`."""

    mask_digest: str
    realised_acceleration: float


def sampled(pattern: Tensor) -> tuple[int, int, int]:
    """Digest of the mask of one slice, measured samples, all samples."""
    digest = int(SamplingMask(pattern, "measured", 1).digest, 16)
    # 64 bits as a signed number, the only kind torch can sum.
    return digest - (1 << 64) * (digest >> 63), int(pattern.sum()), pattern.numel()


def over_slices(facts: Int64[Tensor, "slices facts"]) -> Sampled:
    """The slices of a case together: their common mask, or a digest of all where every slice has its own."""
    digests = list(dict.fromkeys(f"{value % (1 << 64):016x}" for value in facts[:, 0].tolist()))
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
    return Sampled(digest, int(facts[:, 2].sum()) / int(facts[:, 1].sum()))
