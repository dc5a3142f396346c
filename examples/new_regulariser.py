# %% [markdown]
# # A new regulariser in forty lines, scored against SO-Mamba
#
# Everything that reconstructs has one form here, `(y, A) -> image`: measurements and the operator that made them in, an
# image out. So a new idea is one class, and the operators, masks, data and scores are there already.

# %%
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn

import somamba
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.evaluation.evaluate import evaluate, magnitude, reconstruct
from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.physics.channels import to_channels, to_complex
from somamba.report.strip import draw_strip

SMALL = "SOMAMBA_SMALL" in os.environ
OUTPUT = Path(os.environ.get("SOMAMBA_OUTPUT", "output"))
STEPS, SIZE, SUBJECTS = (25, 48, 4) if SMALL else (200, 80, 12)

# %% [markdown]
# The idea: what is subtracted from the image is a learned multiple of its own high frequencies, gated by a small
# network that looks at the image. Stages alternate with data consistency, as in SO-Mamba.

# %%


class GatedDetail(nn.Module):
    """Subtracts gated detail: detail = x - blur(x), gate = network(x)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.Conv2d(2, channels, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(channels, channels, 3, padding=1, groups=4),
            nn.GELU(),
            nn.Conv2d(channels, 4, 3, padding=1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take and return real channels (batch, 2, y, x)."""
        blurred = nn.functional.avg_pool2d(x, 3, stride=1, padding=1)
        gate, residual = self.gate(x).chunk(2, dim=1)
        return x - torch.tanh(gate) * (x - blurred) + 0.1 * residual


class DetailNet(somamba.Reconstructor):
    """Stages of gated detail, each closed by data consistency."""

    def __init__(self, stages: int = 5, channels: int = 32) -> None:
        super().__init__()
        self.stages = nn.ModuleList(GatedDetail(channels) for _ in range(stages))

    def forward(self, y: torch.Tensor, A: somamba.LinearOperator) -> torch.Tensor:
        """Reconstruct the image that A measured as y."""
        x = self.start(y, A)
        for stage in self.stages:
            x = to_complex(stage(to_channels(x)))
            x = x + A.H(y - A(x))  # data consistency: what was measured is put back
        return x


# %% [markdown]
# Data: images that we draw, fourfold undersampled. `DataConfig(dataset="acdc", path=...)` takes a benchmark instead.

# %%
write_phantom("folder", OUTPUT / "images", cases={"train": SUBJECTS, "val": 2, "test": 2}, shape=(SIZE, SIZE))
config = DataConfig(dataset="folder", path=str(OUTPUT / "images"), cache=str(OUTPUT / "prepared"), size=(SIZE, SIZE))
training, testing = open_slices(config, "train"), open_slices(config, "test")

# %% [markdown]
# The same loop, the same slices and the same number of steps for both. It is short on purpose: `somamba train` adds
# schedules, validation, checkpoints and resuming, for every model in `somamba/models/zoo.py`.

# %%


def train(model: somamba.Reconstructor) -> somamba.Reconstructor:
    """Train for `STEPS` steps of two slices."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    order = np.random.default_rng(0)
    for _ in range(STEPS):
        batch = training.batch(order.choice(len(training), 2, replace=False))
        image = magnitude(model(batch.y, batch.A), protocol="raw")
        loss = nn.functional.l1_loss(image, batch.target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


# %%
torch.manual_seed(0)
so_mamba = SOMambaConfig(groups=2, units=1, channels=48, d_model=24, mixer=MixerConfig(d_head=24))
models = {
    "zero-filled": somamba.build("zero_filled"),
    "gated detail": train(DetailNet()),
    "SO-Mamba": train(somamba.build("so_mamba", so_mamba)),
}
shown = testing.batch([len(testing) // 2])
pictures = {"target": shown.target[0, 0].numpy()}
for name, model in models.items():
    scores = [case.scores for case in evaluate(model, testing)]
    psnr, ssim = (float(np.mean([getattr(one, which) for one in scores])) for which in ("psnr", "ssim"))
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(f"{name:>12}: {psnr:.2f} dB, SSIM {ssim:.3f}, {weights:,} parameters")
    pictures[f"{name}, {psnr:.1f} dB"] = magnitude(reconstruct(model, shown), protocol="magnitude")[0, 0].numpy()
(OUTPUT / "new_regulariser.png").write_bytes(draw_strip(pictures))

# %% [markdown]
# One short training on drawn images proves nothing about either of them. To compare in earnest, give your model a line
# in `somamba/models/zoo.py` and train it by a recipe on a benchmark, with several seeds: [Extend it](../extend.md).
