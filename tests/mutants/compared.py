"""Mistakes in the compared networks."""

from mutants.mistake import Mistake

UNET = "models/test_unet.py"
LMO = "models/lmo"
RECON = "models/recon_former"
HIFI = "models/hifi_mamba"
MAMBA_UNET = "models/test_mamba_unet.py"

MISTAKES = (
    Mistake(
        "the U-Net pools by maximum",
        "features = F.avg_pool2d(features, 2)",
        "features = F.max_pool2d(features, 2)",
        UNET,
    ),
    Mistake(
        "the U-Net has another slope", "SLOPE = 0.2  # the slope of the LeakyReLU below zero", "SLOPE = 0.01", UNET
    ),
    Mistake(
        "skips of the U-Net are zero",
        "torch.cat((finer(features), skips.pop()), dim=1)",
        "torch.cat((finer(features), 0 * skips.pop()), dim=1)",
        UNET,
    ),
    Mistake(
        "the U-Net does not norm",
        "F.leaky_relu(self.norm(full(self.convolution(features))), SLOPE)",
        "F.leaky_relu(full(self.convolution(features)), SLOPE)",
        UNET,
    ),
    Mistake(
        "LMO leaves out the consistency behind a block",
        "v = v + self.scanning(self.convolution(v))\n        return self.consistency(v, y, A)",
        "return v + self.scanning(self.convolution(v))",
        LMO,
    ),
    Mistake(
        "LMO leaves out the consistency before a block",
        "v = self.consistency(v, y, A)\n        v = v + self.scanning",
        "v = v + self.scanning",
        LMO,
    ),
    Mistake(
        "LMO leaves out the last consistency",
        "return self.consistency(x + to_complex(self.project(v)), y, A)",
        "return x + to_complex(self.project(v))",
        LMO,
    ),
    Mistake(
        "LMO forgets the zero-filled image",
        "return self.consistency(x + to_complex(self.project(v)), y, A)",
        "return self.consistency(to_complex(self.project(v)), y, A)",
        LMO,
    ),
    Mistake(
        "the local branch of LMO is not gated",
        '* F.silu(full(rearrange(local, "b c y x -> b y x c")))',
        '* full(rearrange(local, "b c y x -> b y x c"))',
        LMO,
    ),
    Mistake(
        "LMO scans forwards only",
        "readout = self.selective(F.silu(self._filter(tokens)))",
        "readout = self.selective(self._filter(tokens))",
        LMO,
    ),
    Mistake(
        "ReconFormer's units do not return to the measurements",
        "x = self.consistency(to_complex(image), y, A)\n",
        "x = to_complex(image)\n",
        RECON,
    ),
    Mistake(
        "ReconFormer's refinement does not return to the measurements",
        "x = self.consistency(to_complex(self.refine(torch.cat(images, dim=1))), y, A)",
        "x = to_complex(self.refine(torch.cat(images, dim=1)))",
        RECON,
    ),
    Mistake(
        "ReconFormer forgets its features",
        "features = features + carried.permute(0, 3, 1, 2)",
        "features = features + 0 * carried.permute(0, 3, 1, 2)",
        RECON,
    ),
    Mistake("ReconFormer's units activate by ReLU", "self.activate = nn.PReLU()", "self.activate = nn.ReLU()", RECON),
    Mistake(
        "HiFi-Mamba leaves out SiLU in front of the embedding",
        "return features + self.embed(F.silu(x))",
        "return features + self.embed(x)",
        HIFI,
    ),
    Mistake(
        "HiFi-Mamba ends without its norm",
        "return self.to_image(self.norm(features), y, A)",
        "return self.to_image(features, y, A)",
        HIFI,
    ),
    Mistake(
        "HiFi-Mamba's images are not consistent",
        "return self.consistency(to_complex(pixels[..., :height, :width]), y, A)",
        "return to_complex(pixels[..., :height, :width])",
        HIFI,
    ),
    Mistake(
        "HiFi-Mamba's high stream lacks what the split rejects",
        "high = self.guide(high + rejected)",
        "high = self.guide(high)",
        HIFI,
    ),
    Mistake(
        "HiFi-Mamba's Haar band is the mean",
        "return 2 * F.avg_pool2d(features, 2)",
        "return F.avg_pool2d(features, 2)",
        HIFI,
    ),
    Mistake("HiFi-Mamba does not gate", "return self.gate(features) * features", "return features", HIFI),
    Mistake(
        "Mamba-UNet's skips leave behind the blocks",
        "skips.append(grid)\n            grid = merge(level(grid))",
        "grid = level(grid)\n            skips.append(grid)\n            grid = merge(grid)",
        MAMBA_UNET,
    ),
    Mistake(
        "Mamba-UNet's blocks have no residual",
        "return grid + self.drop_path(self.mix(self.norm(grid)))",
        "return self.drop_path(self.mix(self.norm(grid)))",
        MAMBA_UNET,
    ),
    Mistake(
        "Mamba-UNet's scans are not gated",
        "return self.out_proj(self.norm(merged) * F.silu(gate))",
        "return self.out_proj(self.norm(merged))",
        MAMBA_UNET,
    ),
    Mistake(
        "Mamba-UNet does not drop paths",
        'drop_path: float = 0.2\n    """Stochastic depth in training: the rate rises',
        'drop_path: float = 0.0\n    """Stochastic depth in training: the rate rises',
        "test_defaults.py",
    ),
    Mistake("another depth of LMO", "depth: int = 16", "depth: int = 6", "test_defaults.py"),
)
