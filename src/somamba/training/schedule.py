"""The learning rate as a function of how far the training is, so that there is nothing to store or to advance.

Three phases: a linear warm-up; the paper's half cosine or a constant rate; and, if asked for, a final decay, which
takes the rate that the second phase has reached to ``decay_to`` as 1 - sqrt(share of the decay that is done).
"""

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Warm-up, cosine or constant rate, decay. Places are counted in steps, or in seconds of a budget."""

    peak: float
    """Learning rate at the end of the warm-up."""
    warmup: int | float
    """Length of the warm-up."""
    length: int | float
    """Place at which the cosine ends."""
    shape: Literal["cosine", "constant"] = "cosine"
    """What follows the warm-up."""
    stride: int = 1
    """What one step adds: 1 counted in steps, whose first then has ``peak / warmup``; 0 in seconds, not yet known."""
    floor: float = 0.0
    """Learning rate at the end of the cosine."""
    decay_from: int | float | None = None
    """Place at which the final decay begins; None if there is none."""
    decay_length: int | float = 0
    """Length of the final decay."""
    decay_to: float = 0.0
    """Learning rate at the end of the final decay."""

    def __call__(self, place: int | float) -> float:
        """The learning rate of the step that begins at ``place``, counted from 0."""
        if self.decay_from is None or place < self.decay_from:
            return self._undecayed(place)
        done = min(1.0, (place - self.decay_from) / self.decay_length)
        return self.decay_to + (self._undecayed(self.decay_from) - self.decay_to) * (1 - math.sqrt(done))

    def _undecayed(self, place: int | float) -> float:
        """The learning rate of the first two phases."""
        if place < self.warmup:
            return self.peak * (place + self.stride) / self.warmup
        if self.shape == "constant":
            return self.peak
        if place >= self.length:
            return self.floor
        done = (place - self.warmup) / (self.length - self.warmup)
        return self.floor + (self.peak - self.floor) * 0.5 * (1 + math.cos(math.pi * done))
