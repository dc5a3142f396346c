"""The ablations of the paper, each a ``replace`` of the default."""

from dataclasses import replace

from somamba.models.so_mamba.config import MixerConfig, Routes, SOMambaConfig
from somamba.registry import Registry


def _with_routes(**switches: bool) -> SOMambaConfig:
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
        "content_residency": _with_routes(residency=True),
        # Parameter tying, Table 5.
        "tied_decay": replace(SOMambaConfig(), mixer=MixerConfig(tie_decay=True)),
        "tied_interfaces": replace(SOMambaConfig(), mixer=MixerConfig(tie_interfaces=True)),
    },
)
