"""How the VMamba family starts its linear layers."""

from torch import nn

SPREAD = 0.02


def start_linear_layers(network: nn.Module) -> None:
    """Draw the weights of all linear layers from a narrow truncated normal distribution; biases start at zero."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=SPREAD)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
