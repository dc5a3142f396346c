"""Weights of samples by how a scan was sampled."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.init import zeros_

from somamba.models.layers.neutral import Neutral
from somamba.physics.encoding import Weighting
from somamba.physics.held_out import sampled_mask
from somamba.physics.operator import LinearOperator
from somamba.shapes import KSpace

HIDDEN = 16
"""Width of the hidden layer of the learned function."""
NEIGHBOURS = 15
"""Density is the share of so many neighbouring columns, or rows and columns, that were acquired."""


class SampleWeights(Neutral):
    """Weighs samples in data consistency: a learned function of where they lie and how dense they are there."""

    def __init__(self) -> None:
        super().__init__()
        last = nn.Linear(HIDDEN, 1)
        zeros_(last.weight)
        zeros_(last.bias)
        self.function = nn.Sequential(nn.Linear(3, HIDDEN), nn.SiLU(), last)

    def forward(self, y: KSpace, A: LinearOperator) -> tuple[KSpace, LinearOperator]:
        """The measurements and their operator, both times the root of the weights."""
        with torch.autocast(y.device.type, enabled=False):
            facts = sample_facts(sampled_mask(A)).to(y.dtype.to_real())
            root = torch.exp(self.function(facts)[..., 0] / 2)
            weighting = Weighting(root)
            return weighting(y), weighting @ A


def sample_facts(mask: Tensor) -> Tensor:
    """What the weight of a sample depends on: distance from the centre, density around it, doublings of acceleration.

    Returns:
        (masks, 1, 1 or y, x, 3). The distance is 1 at the middle of an edge; rows do not count if whole columns were
        acquired, because all of them are alike.
    """
    numbers = mask.float()
    places = [(torch.arange(n, device=mask.device) - n // 2) / max(1, n // 2) for n in mask.shape[-2:]]
    rows = places[0] if mask.shape[-2] > 1 else torch.zeros(1, device=mask.device)
    distance = torch.hypot(rows[:, None], places[1][None]).expand_as(numbers)
    window = (1 if mask.shape[-2] == 1 else NEIGHBOURS, NEIGHBOURS)
    padding = (window[0] // 2, window[1] // 2)
    density = F.avg_pool2d(numbers, window, stride=1, padding=padding, count_include_pad=False)
    doublings = -numbers.mean(dim=(1, 2, 3), keepdim=True).log2().expand_as(numbers)
    return torch.stack([distance, density, doublings], dim=-1)
