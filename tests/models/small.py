"""Networks of a few thousand weights, and measurements for them."""

from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from somamba.models.fps_former.config import FpsFormerConfig
from somamba.models.hifi_mamba.config import HiFiMambaConfig
from somamba.models.ista_net import ISTANetConfig
from somamba.models.lmo.config import LMOConfig
from somamba.models.mamba_unet import MambaUNetConfig
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.models.so_mamba.config import InterfaceConfig, MixerConfig, SOMambaConfig
from somamba.models.trans_unet import TransUNetConfig
from somamba.models.unet import UNetConfig
from somamba.physics.encoding import encoding
from somamba.physics.operator import LinearOperator

Network = TypeVar("Network", bound=nn.Module)

SMALL = SOMambaConfig(
    groups=2,
    units=1,
    channels=12,
    d_model=8,
    interface=InterfaceConfig(hidden=6),
    mixer=MixerConfig(d_state=8, d_head=8, rank=2),
)


SIZES: dict[type, dict[str, Any]] = {
    SOMambaConfig: {name: getattr(SMALL, name) for name in ("groups", "units", "channels", "d_model")},
    UNetConfig: {"channels": 8, "pools": 3},
    ISTANetConfig: {"phases": 3, "features": 8},
    TransUNetConfig: {
        "width": 8,
        "units": (1, 2, 1),
        "norm_groups": 4,
        "d_model": 16,
        "d_hidden": 32,
        "heads": 2,
        "layers": 2,
        "positions": 3,
        "decoder": (16, 16, 8, 8, 8),
    },
    MambaUNetConfig: {"channels": 4, "depths": (1, 1), "d_state": 2},
    LMOConfig: {"depth": 1, "channels": 4, "d_state": 2},
    HiFiMambaConfig: {"groups": 2, "units": 1, "channels": 8, "d_state": 2},
    ReconFormerConfig: {"iterations": 3, "channels": (12, 12, 12), "depths": (1, 1, 1), "heads": 3},
    FpsFormerConfig: {"channels": 4, "blocks": (1, 1, 1, 1), "heads": (1, 1, 2, 2)},
}
"""Fields that make a network small, by the type of its configuration."""


def shrink(config: Any, **changes: Any) -> Any:
    """The same network with few channels; of the changes, those that its configuration knows."""
    if isinstance(config, SOMambaConfig):
        mixer = replace(config.mixer, d_state=8, d_head=8, rank=2)
        config = replace(config, **SIZES[SOMambaConfig], mixer=mixer, interface=replace(config.interface, hidden=6))
    else:
        config = replace(config, **SIZES.get(type(config), {}))
    known = {field.name for field in fields(config)}
    return replace(config, **{name: value for name, value in changes.items() if name in known})


def perturb(network: Network, seed: int = 0) -> Network:
    """Move every parameter away from where it starts: zero-initialised layers would hide what lies behind them."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=rng))
    return network


def measure(
    size: tuple[int, int] = (14, 18), *, batch: int = 1, coils: int = 1, maps: bool = False, seed: int = 0
) -> tuple[Tensor, LinearOperator]:
    """Random images, their k-space under a random column mask, and the operator; with or without sensitivity maps."""
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.complex64, generator=rng)

    mask = torch.rand(batch, 1, 1, size[1], generator=rng) < 0.4
    mask[..., size[1] // 2] = True
    if not maps:
        A = encoding(mask)
        return A(normal(batch, coils, *size)), A
    sensitivities = normal(batch, coils, *size)
    A = encoding(mask, sensitivities / sensitivities.abs().square().sum(dim=1, keepdim=True).sqrt())
    return A(normal(batch, 1, *size)), A


def gradients(
    network: nn.Module, y: Tensor, A: LinearOperator, seed: int = 0
) -> tuple[Tensor, dict[str, Tensor | None]]:
    """The image, and the gradient of every parameter for a random cotangent."""
    network.zero_grad()
    image = network(y, A)
    cotangent = torch.randn(image.shape, dtype=image.dtype, generator=torch.Generator().manual_seed(seed))
    image.backward(cotangent)
    return image.detach(), {name: parameter.grad for name, parameter in network.named_parameters()}
