"""Linear layers of the VMamba family start small."""

import pytest
import torch
from torch import nn

from somamba.models.layers.initial import start_linear_layers


def test_linear_layers_start_small_and_all_others_stay():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(100, 100), nn.Conv2d(2, 2, 3), nn.Linear(3, 3, bias=False))
    filters = network[1].weight.clone()
    start_linear_layers(network)
    assert network[0].weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert not network[0].bias.any()
    assert network[1].weight.equal(filters)
