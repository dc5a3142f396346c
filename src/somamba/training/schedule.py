"""The learning rate as a function of the step alone: nothing to store, nothing to forget to advance."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Linear warm-up, then half a cosine down to the end of training."""

    peak: float
    """Learning rate where warm-up ends."""
    warmup: int
    """Steps of warm-up; the first has ``peak / warmup``."""
    steps: int
    """Steps of the whole training."""
    floor: float = 0.0
    """Learning rate the cosine ends at."""

    def __call__(self, step: int) -> float:
        """The learning rate of step ``step``, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.floor + (self.peak - self.floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
