"""The learning rate as a function of how far the training is: nothing to store, nothing to forget to advance."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Linear warm-up, then half a cosine down to the end of training; measured in steps, or in seconds of a budget."""

    peak: float
    """Learning rate where warm-up ends."""
    warmup: int | float
    """Length of warm-up."""
    length: int | float
    """Length of the whole training."""
    stride: int = 1
    """What one step adds: 1 counted in steps, whose first then has ``peak / warmup``; 0 in seconds, not yet known."""
    floor: float = 0.0
    """Learning rate the cosine ends at."""

    def __call__(self, place: int | float) -> float:
        """The learning rate of the step that begins at ``place``, counted from 0."""
        if place < self.warmup:
            return self.peak * (place + self.stride) / self.warmup
        if place >= self.length:
            return self.floor
        done = (place - self.warmup) / (self.length - self.warmup)
        return self.floor + (self.peak - self.floor) * 0.5 * (1 + math.cos(math.pi * done))
