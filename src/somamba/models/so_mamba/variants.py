"""The ablations of the paper, and learned residency, each a ``replace`` of the default."""

from dataclasses import replace
from typing import Any

from somamba.models.so_mamba.config import MixerConfig, Routes, SOMambaConfig
from somamba.registry import Registry


def _with_routes(**switches: Any) -> SOMambaConfig:
    return replace(SOMambaConfig(), routes=Routes(**switches))


VARIANTS: Registry[SOMambaConfig] = Registry(
    "SO-Mamba variant",
    {
        "so_mamba": SOMambaConfig(),
        # Ownership ablation, Table 4.
        "mamba_regularizer": _with_routes(router=False, access=False, outlet=False),
        "sor_router": _with_routes(access=False, outlet=False),
        "without_access": _with_routes(access=False),
        "without_outlet": _with_routes(outlet=False),
        "content_residency": _with_routes(residency="full"),
        # Adaptive ownership, which the paper leaves to future work: see docs/decisions/adaptive-ownership.md.
        "residency_channel": _with_routes(residency="learned_channel"),
        "residency_token": _with_routes(residency="learned_token"),
        "residency_unit": _with_routes(residency="learned_unit"),
        "so_mamba_adaptive": _with_routes(residency="learned_token"),
        # Parameter tying, Table 5.
        "tied_decay": replace(SOMambaConfig(), mixer=MixerConfig(tie_decay=True)),
        "tied_interfaces": replace(SOMambaConfig(), mixer=MixerConfig(tie_interfaces=True)),
    },
)
