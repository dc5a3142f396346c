"""The networks that can be built by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from somamba.models.base import Reconstructor
from somamba.models.classical.cg_sense import CGSense, CGSenseConfig
from somamba.models.classical.l1_wavelet import L1Wavelet, L1WaveletConfig
from somamba.models.classical.zero_filled import ZeroFilled, ZeroFilledConfig
from somamba.models.fps_former.config import FpsFormerConfig
from somamba.models.fps_former.model import FpsFormer
from somamba.models.hifi_mamba.config import HiFiMambaConfig
from somamba.models.hifi_mamba.model import HiFiMamba
from somamba.models.ista_net import ISTANet, ISTANetConfig
from somamba.models.lmo.config import LMOConfig
from somamba.models.lmo.model import LMO
from somamba.models.mamba_unet import MambaUNet, MambaUNetConfig
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.models.recon_former.model import ReconFormer
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.trans_unet import TransUNet, TransUNetConfig
from somamba.models.unet import UNet, UNetConfig
from somamba.registry import Registry


@dataclass(frozen=True)
class Entry:
    """One network: how to configure and build it, and the paper it comes from."""

    config: Any
    """The default configuration, a frozen dataclass; its type describes all options."""
    build: Callable[[Any], Reconstructor]
    """Makes the network of a configuration."""
    summary: str
    """One line for people."""
    citation: str
    """The paper that it comes from."""
    licence: str = "-"
    """Licence of the public code that goes with the paper; our code is written from the equations."""


_SO_MAMBA = "Fang et al., SO-Mamba: State-Ownership Mamba for Unrolled MRI Reconstruction"
_SUMMARIES = {
    "so_mamba": "state-ownership Mamba, the paper's network",
    "mamba_regularizer": "ablation: no router, all features become content",
    "sor_router": "ablation: L to the scan, G unused",
    "without_access": "ablation: G does not modulate B and C",
    "without_outlet": "ablation: G does not reach the output",
    "content_residency": "ablation: G enters the content, breaking the contract",
    "residency_channel": "learned residency: each channel of G has a gate to the content, at first closed",
    "residency_token": "learned residency: the gate of a token is a linear function of its G, at first zero",
    "residency_unit": "learned residency: G has one gate to the content of a unit, at first closed",
    "so_mamba_adaptive": "adaptive ownership: the kind of learned residency that was best",
    "tied_decay": "check: one projection feeds A and dt",
    "tied_interfaces": "check: one projection feeds B and C",
}

MODELS: Registry[Entry] = Registry(
    "model",
    {
        "zero_filled": Entry(ZeroFilledConfig(), ZeroFilled, "the adjoint A^H y, no network", "-"),
        "cg_sense": Entry(
            CGSenseConfig(),
            CGSense,
            "least squares by conjugate gradients, no network",
            "Pruessmann et al., Advances in sensitivity encoding with arbitrary k-space trajectories, MRM 2001",
            "-",
        ),
        "l1_wavelet": Entry(
            L1WaveletConfig(),
            L1Wavelet,
            "sparse in wavelets, its strength chosen by held-out samples, no network",
            "Lustig et al., Sparse MRI: the application of compressed sensing for rapid MR imaging, MRM 2007",
            "-",
        ),
        **{
            name: Entry(config, SOMamba, _SUMMARIES[name], _SO_MAMBA, "no public code")
            for name, config in VARIANTS.items()
        },
        "unet": Entry(
            UNetConfig(),
            UNet,
            "U-Net of the fastMRI baseline, image domain",
            "Zbontar et al., fastMRI: An Open Dataset and Benchmarks for Accelerated MRI, 2018; after Ronneberger et "
            "al., U-Net: Convolutional Networks for Biomedical Image Segmentation, MICCAI 2015",
            "MIT",
        ),
        "ista_net": Entry(
            ISTANetConfig(),
            ISTANet,
            "ISTA-Net+: unrolled shrinkage-thresholding with learned transforms",
            "Zhang and Ghanem, ISTA-Net: Interpretable Optimization-Inspired Deep Network for Image Compressive "
            "Sensing, CVPR 2018",
            "none stated",
        ),
        "transunet": Entry(
            TransUNetConfig(),
            TransUNet,
            "ResNet-50, ViT-B/16 and a U-Net decoder, image domain",
            "Chen et al., TransUNet: Transformers Make Strong Encoders for Medical Image Segmentation, 2021",
            "Apache-2.0",
        ),
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
        "mamba_unet": Entry(
            MambaUNetConfig(),
            MambaUNet,
            "U-Net of selective scans in four directions",
            "Wang et al., Mamba-UNet: UNet-Like Pure Visual Mamba for Medical Image Segmentation, 2024",
            "Apache-2.0",
        ),
        "lmo": Entry(
            LMOConfig(),
            LMO,
            "unrolled neural operator: convolutions and Mamba between feature-wise data consistencies",
            "Li et al., LMO: Linear Mamba Operator for MRI Reconstruction, CVPR 2025",
            "none stated",
        ),
        "hifi_mamba": Entry(
            HiFiMambaConfig(),
            HiFiMamba,
            "unrolled dual-stream Mamba: the low band is scanned, the high band guides it",
            "Fang et al., HiFi-Mamba: Dual-Stream w-Laplacian Enhanced Mamba for High-Fidelity MRI Reconstruction, "
            "AAAI 2026",
            "MIT",
        ),
    },
)


def build(name: str, config: Any = None) -> Reconstructor:
    """Build a network with weights as they are before training.

    Args:
        name: A name that ``somamba models`` lists, ``so_mamba`` for instance.
        config: Its configuration; None takes the default, which is the paper's.

    Returns:
        A torch module ``(y, A) -> image``. It takes measurements ``(batch, coils, y, x)`` of any height and width, and
        the operator that measured them, and returns complex images ``(batch, 1, y, x)``.

    Raises:
        UnknownNameError: no model has this name.

    Examples:
        >>> import somamba, torch
        >>> A = somamba.encoding(somamba.masks.equispaced(48, acceleration=4).tensor())
        >>> y = A(torch.ones(1, 1, 32, 48, dtype=torch.complex64))
        >>> with torch.no_grad():
        ...     somamba.build("unet").eval()(y, A).shape
        torch.Size([1, 1, 32, 48])
    """
    entry = MODELS[name]
    return entry.build(entry.config if config is None else config)
