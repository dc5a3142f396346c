"""What adapting to a scan brings on simulated scans, for several rates and numbers of steps.

    python benchmarks/adapting.py data/heads                                  # table
    python benchmarks/adapting.py data/heads --rates 5e-4 1e-3 --csv rows.csv

The scans are those of `strengths.py`: slices of the heads kept for validation, put into drawn scanners. PSNR and SSIM
are those of the image behind the last step, with the weights that the held-out lines kept; 0 steps are the network as
it comes. Every number of steps is an adaptation of its own.
"""

import argparse
import csv
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import cast

import torch
from strengths import scans
from torch import Tensor

from somamba.data.batch import Sample
from somamba.evaluation.metrics import Scores, score
from somamba.inference.adaptation import Adaptation, adapt
from somamba.inference.preparation import Preparation
from somamba.inference.reconstruct import method_of
from somamba.inference.weights.trained import Trained, open_weights
from somamba.physics.encoding import encoding
from somamba.physics.operator import LinearOperator


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated slice in the place of a scan that was read and prepared."""

    y: Tensor
    A: LinearOperator
    scan: SimpleNamespace

    @property
    def acquired(self) -> SimpleNamespace:
        """The scan before any stage of its preparation: none was needed."""
        return self.scan

    def refines(self, _trained: Trained) -> bool:
        """Whether the last step follows: it always does here."""
        return True

    def slice(self, _index: int) -> "Simulated":
        """The only slice."""
        return self

    def recover(self, method: Callable[[Tensor, LinearOperator], Tensor], _device: object) -> Tensor:
        """The image by a method; a simulated scan has the scale of training already."""
        return method(self.y, self.A)


def measured(sample: Sample) -> tuple[Tensor, LinearOperator]:
    """The samples of one slice and their operator, as a batch of one."""
    return sample.kspace[None], encoding(sample.mask[None], cast("Tensor", sample.maps)[None])


@torch.no_grad()
def scored(trained: Trained, sample: Sample, prepared: Preparation) -> Scores:
    """The scores of the image as ``somamba reconstruct`` makes it, behind the last step, where a coil sees anything."""
    y, A = measured(sample)
    seen = (cast("Tensor", sample.maps) != 0).any(dim=0)
    image = method_of(prepared, trained)(y, A)[0, 0]
    return score(torch.where(seen, image, 0).abs().numpy(), sample.target[0].numpy())


def main() -> None:
    """Draw, adapt, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", type=Path, help="folder of the dataset heads")
    parser.add_argument("--scans", type=int, default=6)
    parser.add_argument("--weights", default="brain_raw")
    parser.add_argument("--rates", type=float, nargs="+", default=[Adaptation.learning_rate])
    parser.add_argument("--steps", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="write the scores of every scan")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    trained = open_weights(options.weights)
    words = ("data/heads" if word == str(options.heads) else word for word in sys.argv[1:])
    made_by = {"command": shlex.join(["python", "benchmarks/adapting.py", *words])}
    rows: list[dict[str, object]] = []
    for sample in scans(options.heads, options.scans):
        y, A = measured(sample)
        scan = SimpleNamespace(slices=1, path=sample.case_id, kspace=lambda _index, y=y: y[0])
        prepared = cast("Preparation", Simulated(y, A, scan))
        about = {"scan": f"{sample.case_id} {sample.slice}", "lines": int(sample.mask.sum())}
        plain = scored(trained, sample, prepared)
        rows.append({**about, "rate": 0.0, "steps": 0, "kept": 0, **plain._asdict(), "seconds": 0.0, **made_by})
        for rate, steps in product(options.rates, options.steps):
            began = time.perf_counter()
            found = adapt(prepared, trained, Adaptation(steps=steps, learning_rate=rate))
            seconds, kept = round(time.perf_counter() - began, 1), found.record["kept_step"]
            result = scored(found.trained, sample, prepared)
            rows.append(
                {**about, "rate": rate, "steps": steps, "kept": kept, **result._asdict(), "seconds": seconds, **made_by}
            )
            print(*about.values(), f"{rate:g}", steps, kept, f"{result.psnr - plain.psnr:+.2f} dB", flush=True)
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    print("\nrate     steps   PSNR   SSIM")
    for setting in dict.fromkeys((row["rate"], row["steps"]) for row in rows):
        chosen = [row for row in rows if (row["rate"], row["steps"]) == setting]
        psnr, ssim = (mean(cast("float", row[name]) for row in chosen) for name in ("psnr", "ssim"))
        print(f"{setting[0]:<8g} {setting[1]:<6d} {psnr:6.2f} {ssim:.4f}")


if __name__ == "__main__":
    main()
