"""Time and memory of one inference with every network, as ratios to SO-Mamba.

python benchmarks/models.py [--sizes 320 128] [--models NAME ...] [--repeats 3] [--threads 2]

Ablations of SO-Mamba are left out. How it is measured: ``somamba/evaluation/efficiency.py``.
"""

import argparse
from collections.abc import Mapping

import torch

from somamba.evaluation.cost.measured import InferenceCost, measure_inference
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS

YARDSTICK = "so_mamba"
NAMES = [name for name in MODELS if name == YARDSTICK or name not in VARIANTS]


def table(found: Mapping[str, InferenceCost]) -> str:
    """Markdown: the numbers, and how many times SO-Mamba's they are."""
    unit = found[YARDSTICK]
    lines = [["network", "seconds", "x SO-Mamba", "memory", "x SO-Mamba"], ["---", *["---:"] * 4]]
    for name, one in found.items():
        times, sizes = one.seconds / unit.seconds, one.megabytes / unit.megabytes
        lines.append([name, f"{one.seconds:.3f}", f"{times:.2f}", f"{one.megabytes:.0f} MB", f"{sizes:.2f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[320, 128], help="sides of the square image")
    parser.add_argument("--models", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = list(dict.fromkeys([*options.models, YARDSTICK]))
    for size in options.sizes:
        found = measure_inference(names, (size, size), repeats=options.repeats)
        print(f"\n{size}x{size}, one slice, {options.threads} threads, float32, best of {options.repeats}\n")
        print(table(found), flush=True)


if __name__ == "__main__":
    main()
