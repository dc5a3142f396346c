"""The networks that can be built by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from somamba.models.base import Reconstructor
from somamba.models.fps_former.config import FpsFormerConfig
from somamba.models.fps_former.model import FpsFormer
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.models.recon_former.model import ReconFormer
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zero_filled import ZeroFilled, ZeroFilledConfig
from somamba.registry import Registry


@dataclass(frozen=True)
class Entry:
    """One network: how to configure and build it, and whose idea it is."""

    config: Any
    """The default configuration, a frozen dataclass; its type describes all options."""
    build: Callable[[Any], Reconstructor]
    """Configuration to network."""
    summary: str
    """One line for people."""
    citation: str
    """The paper."""
    licence: str = "Apache-2.0"
    """Of the public code that goes with the paper, for those who want to use it; ours is written from the equations."""


_SO_MAMBA = "Fang et al., SO-Mamba: State-Ownership Mamba for Unrolled MRI Reconstruction"
_SUMMARIES = {
    "so_mamba": "state-ownership Mamba, the paper's network",
    "mamba_regularizer": "ablation: no router, all features become content",
    "sor_router": "ablation: L to the scan, G unused",
    "without_access": "ablation: G does not modulate B and C",
    "without_outlet": "ablation: G does not reach the output",
    "content_residency": "ablation: G enters the content, breaking the contract",
    "tied_decay": "check: one projection feeds A and dt",
    "tied_interfaces": "check: one projection feeds B and C",
}

MODELS: Registry[Entry] = Registry(
    "model",
    {
        "zero_filled": Entry(ZeroFilledConfig(), ZeroFilled, "the adjoint A^H y, no network", "-"),
        "reconformer": Entry(
            ReconFormerConfig(),
            ReconFormer,
            "recurrent pyramid transformer at three resolutions, five iterations",
            "Guo et al., ReconFormer: Accelerated MRI Reconstruction Using Recurrent Transformer, IEEE TMI 2024",
            "MIT",
        ),
        "fps_former": Entry(
            FpsFormerConfig(),
            FpsFormer,
            "U-shaped transformer with frequency modulation and hybrid experts",
            "Meng et al., Boosting ViT-based MRI Reconstruction from the Perspectives of Frequency Modulation, Spatial "
            "Purification, and Scale Diversification, AAAI 2025",
            "none stated",
        ),
        **{name: Entry(config, SOMamba, _SUMMARIES[name], _SO_MAMBA) for name, config in VARIANTS.items()},
    },
)


def build(name: str, config: Any = None) -> Reconstructor:
    """Build the network called ``name``, by its default configuration or the one given."""
    entry = MODELS[name]
    return entry.build(entry.config if config is None else config)
