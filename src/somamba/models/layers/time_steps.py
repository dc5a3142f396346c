"""Step sizes of a state-space layer at the start of training."""

import math

import torch
from torch import Tensor


def initial_dt_bias(count: int) -> Tensor:
    """Inverse softplus of step sizes drawn log-uniformly from [0.001, 0.1], as Mamba has it."""
    dt = torch.exp(torch.empty(count).uniform_(math.log(0.001), math.log(0.1)))
    return dt + torch.log(-torch.expm1(-dt))
