"""Which strengths of the last step are best on simulated scans.

    python benchmarks/strengths.py data/heads                  # table
    python benchmarks/strengths.py data/heads --csv rows.csv   # and rows

Slices of the heads kept for validation (`somamba data heads`) are put into drawn scanners, 10 to 16 coils compressed
to 12, at x4 and x8 with 12, 18 and 24 calibration lines, and coil maps are estimated from those lines. The network
makes an image of each scan, and the last step runs with every mu, lambda and number of iterations. The table gives PSNR
and SSIM on average, and how many dB and how much SSIM are lost on average against the best of all choices for each
scan. The last line names the choice of the least loss, where 0.02 of SSIM count as 1 dB.
"""

import argparse
import csv
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import torch
from torch import Tensor

from somamba.data.batch import Sample
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.slices import open_slices
from somamba.evaluation.metrics import Scores, score
from somamba.inference.weights.trained import open_weights
from somamba.models.base import Reconstructor
from somamba.physics.encoding import encoding
from somamba.physics.sparse import sparse_image

WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3)
SPARSITIES = (0.00125, 0.0025, 0.005, 0.01)
ITERATIONS = (15, 25)
SSIM_OF_A_DECIBEL = 0.02


class Choice(NamedTuple):
    """How the last step runs."""

    weight: float
    sparsity: float
    iterations: int


def scans(path: Path, count: int) -> Iterator[Sample]:
    """Drawn scans, spread over the slices of the heads."""
    for number, (acceleration, lines) in zip(range(count), _endless(), strict=False):
        augmentation = Augmentation(
            acceleration=(acceleration, acceleration),
            calibration=(lines, lines),
            coils=(10, 16),
            snr=(60, 150),
            size=(224, 224),
            padded=0,
            folded=0,
            maps="estimated",
        )
        config = DataConfig(
            dataset="heads", path=str(path), protocol="raw", combine="sense", augmentation=augmentation, seed=number
        )
        slices = open_slices(config, "val")
        yield slices[(2 * number + 1) * len(slices) // (2 * count)]


def _endless() -> Iterator[tuple[int, int]]:
    while True:
        yield from product((4, 8), (12, 18, 24))


@torch.no_grad()
def scored(sample: Sample, network: Reconstructor) -> dict[Choice, Scores]:
    """The scores of every choice on one scan."""
    if sample.maps is None:
        raise SystemExit("Scans without coil maps have no last step.")
    y, A = sample.kspace[None], encoding(sample.mask[None], sample.maps[None])
    seen = (sample.maps != 0).any(dim=0)
    prior = torch.where(seen, network(y, A), 0)
    target = sample.target[0].numpy()

    def scores(image: Tensor) -> Scores:
        return score(torch.where(seen, image[0, 0], 0).abs().numpy(), target)

    return {
        choice: scores(
            sparse_image(y, A, choice.sparsity, prior=prior, weight=choice.weight, iterations=choice.iterations)
        )
        for choice in map(Choice._make, product(WEIGHTS, SPARSITIES, ITERATIONS))
    }


def main() -> None:
    """Draw, reconstruct, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", type=Path, help="folder of the dataset heads")
    parser.add_argument("--scans", type=int, default=6)
    parser.add_argument("--weights", default="brain_raw")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="write the scores of every scan")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    network = open_weights(options.weights).model.eval()
    found: list[dict[Choice, Scores]] = []
    rows: list[dict[str, object]] = []
    words = ("data/heads" if word == str(options.heads) else word for word in sys.argv[1:])
    made_by = {"command": shlex.join(["python", "benchmarks/strengths.py", *words])}
    for sample in scans(options.heads, options.scans):
        found.append(scored(sample, network))
        name = {"scan": f"{sample.case_id} {sample.slice}", "lines": int(sample.mask.sum())}
        rows += [{**name, **choice._asdict(), **one._asdict(), **made_by} for choice, one in found[-1].items()]
        best = max(found[-1], key=lambda choice: found[-1][choice].psnr)
        print(*name.values(), "best PSNR:", *best, f"{found[-1][best].psnr:.2f}", flush=True)
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    tell(found)


def tell(found: Sequence[Mapping[Choice, Scores]]) -> None:
    """Print the table and its best line."""
    tops = [(max(s.psnr for s in one.values()), max(s.ssim for s in one.values())) for one in found]
    print("\nmu      lambda  iterations  PSNR   SSIM    lost dB  lost SSIM")
    losses = {}
    for choice in found[0]:
        psnr, ssim = mean(one[choice].psnr for one in found), mean(one[choice].ssim for one in found)
        lost = mean(top[0] for top in tops) - psnr, mean(top[1] for top in tops) - ssim
        losses[choice] = lost[0] + lost[1] / SSIM_OF_A_DECIBEL
        line = f"{choice.weight:<7g} {choice.sparsity:<8g} {choice.iterations:>9}"
        print(f"{line}  {psnr:.2f}  {ssim:.4f}  {lost[0]:7.2f}  {lost[1]:.4f}")
    print("least loss:", min(losses, key=losses.__getitem__))


if __name__ == "__main__":
    main()
