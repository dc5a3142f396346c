"""Train a small SO-Mamba compiled and as layers, from the same seeds: do they end within the noise of seeds?

python benchmarks/seeds.py [--steps 200] [--seeds 3] [--size 48]

Every seed draws weights and slices (boxes of random brightness and phase, undersampled four times). For each, the loss
of the last twenty steps is averaged. Printed are both ways for every seed, the difference between them, and the spread
between seeds. Nothing is asserted.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import mean, stdev
from unittest.mock import patch

import torch
from torch import Tensor

from somamba.models.so_mamba import model, unit
from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.physics.encoding import encoding
from somamba.physics.masks import make_mask

CONFIG = replace(SOMambaConfig(), groups=2, units=1, channels=64, d_model=32, mixer=MixerConfig(d_head=16))
LAST = 20


@contextmanager
def as_layers() -> Iterator[None]:
    """Inside, units and the ends of stages run layer by layer."""
    with patch.object(unit, "can_stream", _never), patch.object(model, "compiled_end", _never):
        yield


def _never(*_: object) -> bool:
    return False


def boxes(size: int, rng: torch.Generator) -> Tensor:
    """Two slices of eight boxes each, (2, 1, size, size)."""
    images = torch.zeros(2, 1, size, size, dtype=torch.complex64)
    for image in images[:, 0]:
        for _ in range(8):
            top, left = torch.randint(size - 4, (2,), generator=rng).tolist()
            height, width = torch.randint(4, size // 2, (2,), generator=rng).tolist()
            image[top : top + height, left : left + width] += torch.randn(1, dtype=torch.complex64, generator=rng)
    return images


def train(seed: int, steps: int, size: int) -> float:
    """The mean loss of the last steps of a training."""
    torch.manual_seed(seed)
    network, rng = SOMamba(CONFIG).train(), torch.Generator().manual_seed(seed)
    A = encoding(make_mask("equispaced", shape=(size, size), acceleration=4).tensor())
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    losses = []
    for _ in range(steps):
        image = boxes(size, rng)
        optimiser.zero_grad()
        loss = (network(A(image), A) - image).abs().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    return mean(losses[-LAST:])


def main() -> None:
    """Parse, train, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=48)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ends: dict[str, list[float]] = {"compiled": [], "layers": []}
    for seed in range(options.seeds):
        ends["compiled"].append(train(seed, options.steps, options.size))
        with as_layers():
            ends["layers"].append(train(seed, options.steps, options.size))
        print(f"seed {seed}: " + ", ".join(f"{way} {losses[-1]:.5f}" for way, losses in ends.items()), flush=True)
    apart = max(abs(one - other) for one, other in zip(ends["compiled"], ends["layers"], strict=True))
    print(f"largest difference between both ways {apart:.1e}, spread between seeds {stdev(ends['compiled']):.1e}")


if __name__ == "__main__":
    main()
