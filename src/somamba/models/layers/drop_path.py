"""Stochastic depth: in training, a branch is left out for some slices of the batch."""

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """Leaves a branch out with probability ``rate`` and scales it up otherwise, so that its mean stays."""

    def __init__(self, rate: int | float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        """Drop, in training; each slice of the batch on its own."""
        if not self.training or self.rate == 0:
            return branch
        kept = torch.rand(branch.shape[0], device=branch.device) >= self.rate
        return branch * (kept / (1 - self.rate)).to(branch.dtype).view(-1, *[1] * (branch.ndim - 1))

    def extra_repr(self) -> str:
        """Return the rate, which ``print`` shows."""
        return f"rate={self.rate:g}"


def rising_rates(largest: int | float, branches: int) -> list[float]:
    """Rates that rise evenly from none at the first branch to the largest at the last."""
    return [largest * i / max(branches - 1, 1) for i in range(branches)]
