"""When and how a unit runs compiled as a whole: in inference, if nobody watches its layers.

It computes what the layers compute, with two of them folded into one: the outlet's last layer and W_o follow each other
without anything in between, so their product is taken once instead of at every token.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn

from somamba.models.layers.depthwise import DepthwiseGELU
from somamba.models.so_mamba.interface import InterfaceModulation
from somamba.models.so_mamba.mixer import A_FLOOR, NORM_EPS
from somamba.models.so_mamba.outlet import Outlet
from somamba.models.so_mamba.ownership import OwnershipBlock
from somamba.models.so_mamba.router import Router
from somamba.native.library import usable
from somamba.native.product import halves_pay
from somamba.native.route import RouteWeights, route
from somamba.native.stream import StreamWeights, stream_block
from somamba.shapes import Grid


def can_stream(norm: nn.LayerNorm, router: nn.Module, block: OwnershipBlock, features: Grid) -> bool:
    """Tell whether the compiled unit may take the place of its layers: norm, router and block.

    Not while gradients are recorded, in a trace, or where a hook waits for one of the layers: it would wait in vain.
    And only for what was compiled: the paper's unit, its tokens in the order of rows.
    """
    recorded = torch.is_grad_enabled() or torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None
    rounded = features.dtype == torch.bfloat16 and _autocast_to_half()
    if recorded or not usable(norm.weight, *(() if rounded else (features,))):
        return False
    return _is_the_papers(router, block) and not any(map(_watched, (norm, router, block)))


def stream(norm: nn.LayerNorm, router: nn.Module, block: OwnershipBlock, features: Grid) -> Grid:
    """``X + Y`` of a unit for which `can_stream` holds.

    Under autocast to bfloat16 the linear layers that autocast would take are multiplied in bfloat16 if the machine has
    an instruction for it. Where it has none, float32 is both faster and more exact, so it stays.
    """
    half = _autocast_to_half() and halves_pay()
    # Weights are put together and packed as they are; autocast would round them on the way.
    with torch.autocast("cpu", enabled=False):
        features = features.float()
        carrier, evidence = route(features, _route_weights(norm, cast("Router", router)), half=half)
        return stream_block(features, carrier, evidence, _stream_weights(block), half=half)


def _autocast_to_half() -> bool:
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


def _is_the_papers(router: nn.Module, block: OwnershipBlock) -> bool:
    config = block.mixer.config
    return (
        isinstance(router, Router)
        and isinstance(router.filter, DepthwiseGELU)
        and isinstance(router.to_evidence, nn.Linear)
        and isinstance(block.access, InterfaceModulation)
        and isinstance(block.access.reduce, nn.Sequential)
        and isinstance(block.outlet, Outlet)
        and isinstance(block.outlet.widen, nn.Identity)
        and isinstance(block.out_proj, nn.Identity)
        and block.order == "rows"
        and config.backend in ("auto", "native")
        and block.residency is None
        and not (block.mixer.modulate_raw or config.tie_decay or config.tie_interfaces)
    )


def _watched(part: nn.Module) -> bool:
    """Whether a forward hook waits on one of the layers."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in part.modules())


def _route_weights(norm: nn.LayerNorm, router: Router) -> RouteWeights:
    return RouteWeights(
        norm=_affine(norm),
        norm_eps=norm.eps,
        filter=_affine(router.filter),
        carrier=_affine(router.to_carrier),
        evidence=_affine(router.to_evidence),
        smooth=router.project.taps,
    )


def _affine(layer: Any) -> tuple[Tensor, Tensor]:
    return layer.weight, layer.bias


def _stream_weights(block: Any) -> StreamWeights:
    mixer, access, outlet, merge = block.mixer, block.access, block.outlet, block.merge
    read, refine = merge.weight.split(merge.widths, dim=1)
    narrow, shift = _affine(outlet.narrow)
    return StreamWeights(
        content_norm=_affine(block.content_norm),
        evidence_norm=_affine(access.norm),
        norm_eps=access.norm.eps,
        project=mixer.in_proj.weight,
        dt_bias=mixer.dt_bias,
        B_norm=mixer.B_norm,
        C_norm=mixer.C_norm,
        B_bias=mixer.B_bias,
        C_bias=mixer.C_bias,
        mimo_x=mixer.mimo_x,
        mimo_z=mixer.mimo_z,
        mimo_o=mixer.mimo_o,
        D=mixer.D,
        groups=mixer.config.groups,
        interface_eps=NORM_EPS,
        decay_floor=A_FLOOR,
        decay_softplus=mixer.config.decay == "softplus",
        reduce=_affine(access.reduce[0]),
        modulate=(access.project.weight.t().contiguous(), access.project.bias),
        scale=float(access.scale),
        shift=float(access.shift),
        outlet=_affine(outlet.filter),
        merge=(read, refine @ narrow, merge.bias + refine @ shift),
    )
