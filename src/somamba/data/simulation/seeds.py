"""Names for everything that is drawn for a slice, and the mask among it."""

from dataclasses import dataclass
from functools import lru_cache

from somamba.data.config import DataConfig
from somamba.data.order import seed_of
from somamba.physics.masks import make_mask
from somamba.physics.sampling_mask import SamplingMask

SEEDS = 2**32
"""How many seeds a mask can have."""
WHOLE = ("spokes", "offset")
"""Options of masks that are counts; a recipe may write them as 32.0."""


@dataclass(frozen=True)
class Draw:
    """Names everything that is drawn for one slice: the same names, the same draws."""

    seed: int
    epoch: int
    case_id: str
    slice: int

    def of(self, what: str) -> int:
        """The seed of something drawn anew for every slice and epoch."""
        return seed_of(what, self.seed, self.epoch, self.case_id, self.slice)

    def of_case(self, what: str) -> int:
        """The seed of something that belongs to the examination, such as its coils."""
        return seed_of(what, self.seed, self.case_id)


def mask_for(shape: tuple[int, int], config: DataConfig, draw: Draw) -> SamplingMask:
    """The mask of one slice: the fixed one, or one drawn for it.

    Args:
        shape: Rows and columns.
        config: The kind of mask, its acceleration and options.
        draw: The slice and epoch that name the seed.
    """
    options = tuple(sorted(config.mask_options.items()))
    if not config.draws_masks:
        return _made(config.mask_kind, shape, float(config.acceleration), config.seed % SEEDS, options)
    seed = draw.of("mask") % SEEDS
    if config.mask_kind == "equispaced":
        # Columns are at least this far apart, so every smaller offset is allowed.
        options = tuple(sorted({**config.mask_options, "offset": seed % int(config.acceleration)}.items()))
        seed = 0
    return _made(config.mask_kind, shape, float(config.acceleration), seed, options)


@lru_cache(maxsize=256)
def _made(
    kind: str, shape: tuple[int, int], acceleration: float, seed: int, options: tuple[tuple[str, float | int], ...]
) -> SamplingMask:
    whole = {name: int(value) if value == int(value) and name in WHOLE else value for name, value in options}
    return make_mask(kind, shape=shape, acceleration=acceleration, seed=seed, **whole)
