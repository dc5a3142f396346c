"""How the slices of a case were sampled: which mask, and which share of k-space it measured.

The facts of a slice are stored as an int64 row, so that the results of several processes can be combined by a sum.
"""

import hashlib

from jaxtyping import Int64
from torch import Tensor

from somamba.physics.sampling_mask import SamplingMask
from somamba.results.setting import Sampled

FACTS = 3
"""Number of facts that `sampled` returns for a slice."""


def sampled(pattern: Tensor) -> tuple[int, int, int]:
    """Digest of the mask of one slice, measured samples, all samples."""
    digest = int(SamplingMask(pattern, "measured", 1).digest, 16)
    # 64 bits as a signed number, the only kind torch can sum.
    return digest - (1 << 64) * (digest >> 63), int(pattern.sum()), pattern.numel()


def over_slices(facts: Int64[Tensor, "slices facts"]) -> Sampled:
    """The slices of a case together: the digest of their common mask, or of all masks if slices have their own."""
    digests = list(dict.fromkeys(f"{value % (1 << 64):016x}" for value in facts[:, 0].tolist()))
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
    return Sampled(mask_digest=digest, realised_acceleration=int(facts[:, 2].sum()) / int(facts[:, 1].sum()))
