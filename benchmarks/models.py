"""Time and memory of one inference with every network, as ratios to SO-Mamba.

python benchmarks/models.py [--sizes 320 128] [--models NAME ...] [--repeats 3] [--threads 2]

Ablations of SO-Mamba are left out. The networks run in turn on random measurements of the same size, best of several;
``memory`` is what one inference adds to the resident set of a process of its own at its peak, weights not counted.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from memory import added_megabytes, in_child
from network import awake, inference
from timing import alternate

from somamba.models.base import Reconstructor
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS, build

YARDSTICK = "so_mamba"
NAMES = [name for name in MODELS if name == YARDSTICK or name not in VARIANTS]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One network at one size."""

    parameters: int
    seconds: float
    megabytes: float


def network(name: str) -> Reconstructor:
    """A network of the registry, by its default configuration, with all weights away from zero."""
    torch.manual_seed(0)
    return awake(build(name))


def memory_of(name: str, size: int) -> float:
    """What one inference adds to this process."""
    model = network(name)
    inference(model, 32)()  # libraries load what they need
    return added_megabytes(inference(model, size))


def measure(names: Sequence[str], size: int, *, repeats: int, threads: int) -> dict[str, Measured]:
    """Time the networks in turn, then weigh each in a child."""
    networks = {name: network(name) for name in names}
    best = alternate({name: inference(model, size) for name, model in networks.items()}, repeats)
    return {
        name: Measured(
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            seconds=best[name],
            megabytes=in_child(f"import models; print(models.memory_of({name!r}, {size}))", threads),
        )
        for name, model in networks.items()
    }


def table(found: dict[str, Measured]) -> str:
    """Markdown: the numbers, and how many times SO-Mamba's they are."""
    heads = ["network", "parameters", "seconds", "x SO-Mamba", "memory", "x SO-Mamba"]
    unit = found[YARDSTICK]
    lines = [heads, ["---", *["---:"] * 5]]
    for name, one in found.items():
        times, sizes = one.seconds / unit.seconds, one.megabytes / unit.megabytes
        seconds, memory = f"{one.seconds:.3f}", f"{one.megabytes:.0f} MB"
        lines.append([name, f"{one.parameters:,}", seconds, f"{times:.2f}", memory, f"{sizes:.2f}"])
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
        found = measure(names, size, repeats=options.repeats, threads=options.threads)
        print(f"\n{size}x{size}, one slice, {options.threads} threads, float32, best of {options.repeats}\n")
        print(table(found), flush=True)


if __name__ == "__main__":
    main()
