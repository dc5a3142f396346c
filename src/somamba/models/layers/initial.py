"""How layers start: the linear layers of the VMamba family, and the step sizes of a state-space layer."""

import math

import torch
from torch import Tensor, nn

SPREAD = 0.02


def start_linear_layers(network: nn.Module) -> None:
    """Draw the weights of all linear layers from a narrow truncated normal distribution; biases start at zero."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=SPREAD)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def initial_dt_bias(count: int) -> Tensor:
    """Inverse softplus of step sizes drawn log-uniformly from [0.001, 0.1], as Mamba has it."""
    dt = torch.exp(torch.empty(count).uniform_(math.log(0.001), math.log(0.1)))
    return dt + torch.log(-torch.expm1(-dt))
