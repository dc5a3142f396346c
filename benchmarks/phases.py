"""How much of an image is out of phase with its surroundings: real scans beside simulated ones.

    python benchmarks/phases.py SCAN...                                   # fully sampled scans
    python benchmarks/phases.py SCAN... --heads data/heads                # and simulated scans of whole heads
    python benchmarks/phases.py SCAN... --heads data/heads --plain        # without fat and uneven phases

An image is merged by coil maps that ESPIRiT estimates, and the phase of its own smoothed version is taken off. The
share of its energy that is left in the imaginary part says how far it is from a real image of smooth phase. The window
that smooths it holds so many samples of k-space along each axis. Of several images the median is given, and the range.
"""

import argparse
import math
from pathlib import Path

import torch
from torch import Tensor

from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.slices import open_slices
from somamba.inference.preparation import Preparation
from somamba.inference.weights.trained import open_weights
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.raw.opening import open_raw_scan

WINDOWS = (16, 24, 48, 96)


def out_of_phase(image: Tensor, window: int) -> float:
    """The share of the energy of an image (y, x) that is imaginary once its smooth phase is taken off."""
    sides = [(torch.arange(size) - size // 2) / (window / 2) for size in image.shape]
    rows, columns = (torch.where(side.abs() < 1, (1 + torch.cos(math.pi * side)) / 2, 0) for side in sides)
    smooth = ifft2c(fft2c(image) * rows[:, None] * columns)
    left = (image * torch.polar(torch.ones_like(smooth.real), -smooth.angle())).imag
    return float(left.square().sum() / image.abs().square().sum())


def told(name: str, images: list[Tensor]) -> None:
    """One line of the table: the median over images, and the least and the largest share."""
    cells = []
    for window in WINDOWS:
        shares = sorted(100 * out_of_phase(image, window) for image in images)
        cells.append(f"{shares[len(shares) // 2]:7.3f} ({shares[0]:.3f} to {shares[-1]:.3f})")
    print(f"{name:<32} {len(images):>6}  {'  '.join(f'{cell:<26}' for cell in cells)}", flush=True)


def simulated(heads: Path, count: int, *, plain: bool) -> list[Tensor]:
    """Fully sampled images of drawn scans, spread over the slices of the training heads."""
    bounds = Augmentation(acceleration=(1, 1), masks=("random",), snr=(1e4, 1e4), padded=0, folded=0, maps="estimated")
    if plain:
        bounds = Augmentation(**{**vars(bounds), "fat": 0, "unevenness": (0, 0)})
    config = DataConfig(dataset="heads", path=str(heads), protocol="raw", combine="sense", augmentation=bounds)
    slices = open_slices(config, "train")
    samples = [slices[(2 * number + 1) * len(slices) // (2 * count)] for number in range(count)]
    return [
        encoding(sample.mask[None], sample.maps[None]).adjoint(sample.kspace[None])[0, 0]
        for sample in samples
        if sample.maps is not None
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scans", type=Path, nargs="+", help="fully sampled multi-coil scans; their first slice is used")
    parser.add_argument("--heads", type=Path, help="folder of the dataset heads")
    parser.add_argument("--count", type=int, default=24, help="simulated scans")
    parser.add_argument("--plain", action="store_true", help="simulate without fat and uneven phases")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'percent of the energy, window':<32} {'images':>6}  {'  '.join(f'{window:<26}' for window in WINDOWS)}")
    for path in options.scans:
        prepared = Preparation(open_raw_scan(path), open_weights("zero_filled")).slice(0)
        if prepared is None:
            raise SystemExit(f"{path}: there is no signal in its first slice.")
        told(path.stem, [prepared.whole])
    if options.heads is not None:
        told("simulated", simulated(options.heads, options.count, plain=options.plain))


if __name__ == "__main__":
    main()
