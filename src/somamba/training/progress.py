"""How far a training is, as numbers: with the weights, the optimiser and the recipe they decide the rest of the run.

The order of slices, the learning rate and every draw of a step are functions of the seed and the step, so no generator
has to be stored: a step sees the same numbers whether the run was interrupted before it or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from somamba.data.order import seed_of


@dataclass(frozen=True)
class Progress:
    """The numbers of a run."""

    step: int = 0
    """The number of steps that were taken."""
    loss_sum: float = 0.0
    """Sum of the losses of the current epoch's steps."""
    loss_steps: int = 0
    """Number of losses in that sum."""
    skipped: int = 0
    """Steps left out because their gradient was not finite."""
    skipped_in_row: int = 0
    """Steps left out since the last one that was taken."""
    validated: int = 0
    """Steps done at the last validation."""
    best: float | None = None
    """Highest PSNR on the validation cases."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Means of the last validation."""
    seconds: float = 0.0
    """Time that the steps took, counted under a budget of minutes only: otherwise no clock decides a byte."""
    validated_seconds: float = 0.0
    """Value of ``seconds`` at the last validation."""

    @property
    def taken(self) -> int:
        """Steps that changed the weights; each adds to their moving average."""
        return self.step - self.skipped

    @property
    def mean_loss(self) -> float | None:
        """Mean loss of the current epoch; None if all of its steps were skipped."""
        return self.loss_sum / self.loss_steps if self.loss_steps else None

    def includes(self, event: Mapping[str, Any]) -> bool:
        """Whether an event of the journal lies before this point; before the first step none does."""
        done = self.validated if event["event"] == "validation" else self.step
        return self.step > 0 and event["step"] <= done


def seed_step(seed: int, step: int, rank: int) -> None:
    """Make whatever a model draws in this step, dropout for one, a function of seed, step and process.

    Args:
        seed: The recipe's seed.
        step: Steps done before this one.
        rank: Number of the process.
    """
    torch.manual_seed(seed_of("step", seed, step, rank))
