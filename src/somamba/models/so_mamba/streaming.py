"""When and how a unit runs compiled as a whole: if its kind was compiled, and if nothing watches its layers.

It computes what the layers compute, with two of them folded into one: the outlet's last layer and W_o follow each other
without anything in between, so their product is taken once instead of at every token. Without gradients it runs in
pieces and keeps nothing (`stream_block`); with gradients it is one operator to autograd (`train_unit`).
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.ownership import OwnershipBlock
from somamba.models.so_mamba.router import Router
from somamba.native.library import traced, usable
from somamba.native.product import halves_pay
from somamba.native.route import route
from somamba.native.stream import stream_block
from somamba.native.training import train_unit
from somamba.shapes import Grid


def _any(_value: object) -> bool:
    """Every value: the compiled unit takes it as a size, or the field does not concern units."""
    return True


def _of(*values: object) -> Callable[[object], bool]:
    return lambda value: value in values


COMPILED: dict[str, Callable[[Any], bool]] = {
    "groups": _any,
    "units": _any,
    "channels": _any,
    "patch": _any,
    "d_model": _any,
    "coils": _any,
    "routes.router": _of(True),
    "routes.access": _of(True, False),
    "routes.outlet": _of(True, False),
    "routes.residency": _of("none", "full", "learned_channel", "learned_token", "learned_unit"),
    "router.projection": _of("depthwise"),
    "router.compaction": _of("average", "stride"),
    "interface.hidden": lambda hidden: hidden > 0,
    "interface.scale": _any,
    "interface.shift": _any,
    "interface.learned_strengths": _of(True, False),
    "interface.position": _of("after_norm"),
    "mixer.d_state": _any,
    "mixer.d_head": _any,
    "mixer.expand": _any,
    "mixer.rank": _any,
    "mixer.groups": _any,
    "mixer.rope_fraction": _any,
    "mixer.decay": _of("rational", "softplus"),
    "mixer.tie_decay": _of(True, False),
    "mixer.tie_interfaces": _of(True, False),
    "mixer.backend": _of("auto", "native"),
    "outlet_ratio": _of(0),
    "output_projection": _of("merged"),
    "residency_mix": _of("sum"),
    "scan_orders": _any,  # the order of a unit is an argument of its own
    "carry_features": _any,
    "consistency": _any,
    "cg_iterations": _any,
    "cg_tolerance": _any,
    "weighted_samples": _any,
    "recompute": _any,
}
"""Every field of the config with the values that the compiled unit knows. A field that is not named runs as layers."""


def is_compiled(config: SOMambaConfig, order: str) -> bool:
    """Tell whether a unit of this config, with its tokens in this order, was compiled."""
    known = all(name in COMPILED and COMPILED[name](value) for name, value in settings(config))
    return known and order == "rows" and config.routes.evidence


def settings(config: Any, above: str = "") -> Iterator[tuple[str, object]]:
    """Every field of a config and of the configs in it, by its full name."""
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            yield from settings(value, f"{above}{field.name}.")
        else:
            yield above + field.name, value


def can_stream(norm: nn.LayerNorm, router: nn.Module, block: OwnershipBlock, features: Grid) -> bool:
    """Tell whether the compiled form of a unit that has one may take the place of its layers now.

    Not in a trace, and not if one of the layers has a hook, which would not be called. With gradients only in float32.

    Args:
        norm: The norm of the features.
        router: The router.
        block: The ownership block.
        features: The features of the unit.
    """
    if not unwatched(norm, router, block):
        return False
    if torch.is_grad_enabled() and torch.is_autocast_enabled(features.device.type):
        return False
    rounded = features.dtype == torch.bfloat16 and _autocast_to_half()
    return usable(norm.weight, *(() if rounded else (features,)))


def compiled_end(linear: nn.Linear, norm: nn.LayerNorm, x: Tensor) -> bool:
    """Tell whether the compiled form of Phi or Psi may take the place of its two layers now; never under autocast.

    Args:
        linear: Its linear layer.
        norm: Its layer norm.
        x: What goes in.
    """
    return unwatched(linear, norm) and not torch.is_autocast_enabled("cpu") and usable(linear.weight, norm.weight, x)


def unwatched(*parts: nn.Module) -> bool:
    """Whether no trace is being taken and no layer has a hook."""
    return not traced() and not any(map(_watched, parts))


def stream(norm: nn.LayerNorm, router: nn.Module, block: OwnershipBlock, features: Grid) -> Grid:
    """``X + Y`` of a unit for which `is_compiled` and `can_stream` hold.

    Under autocast to bfloat16 the linear layers that autocast would take are multiplied in bfloat16 if the machine has
    an instruction for it. If it has none, float32 is both faster and more exact, so it stays.

    Args:
        norm: The norm of the features.
        router: The router.
        block: The ownership block.
        features: The features of the unit.
    """
    half = _autocast_to_half() and halves_pay()
    # Weights are put together and packed as they are; autocast would round them on the way.
    with torch.autocast("cpu", enabled=False):
        weights = cast("Router", router).weights(norm), block.weights()
        if torch.is_grad_enabled():
            return train_unit(features, *weights)
        features = features.float().contiguous()
        carrier, evidence = route(features, weights[0], half=half)
        return stream_block(features, carrier, evidence, weights[1], half=half)


def _autocast_to_half() -> bool:
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


def _watched(part: nn.Module) -> bool:
    """Whether one of the layers has a forward or a backward hook. Every step asks every layer, so this is short."""
    if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks or part._backward_pre_hooks:
        return True
    return any(_watched(child) for child in part._modules.values() if child is not None)
