"""Slices a second of the data path: preparing (cold) and measuring from the cache (warm).

    python benchmarks/data.py                                  # synthetic ACDC-like and fastMRI-like files
    python benchmarks/data.py --dataset acdc --path data/acdc  # real ones

Training needs a third of the warm number at most; see docs/data.md.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from somamba.data.config import DataConfig
from somamba.data.order import epoch_order, training_batches
from somamba.data.phantom import write_phantom
from somamba.data.slices import SliceDataset, open_slices

SETTINGS: dict[str, dict[str, Any]] = {
    "acdc, magnitude 128 x 128": {"dataset": "acdc", "shape": (256, 216), "slices": 20},
    "fastmri, magnitude 320 x 320": {"dataset": "fastmri", "shape": (320, 320), "slices": 20},
    "m4raw, raw 4 coils 256 x 256": {"dataset": "m4raw", "shape": (256, 256), "slices": 18, "protocol": "raw"},
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def epoch(dataset: SliceDataset, batch_size: int) -> int:
    """Load one epoch in training order; the number of slices."""
    batches = training_batches(epoch_order(len(dataset), seed=0, epoch=0), batch_size)
    return sum(len(dataset.batch(batch)) for batch in batches)


def report(name: str, config: DataConfig, batch_size: int, cases: int | None) -> None:
    """Print one row of the table."""
    cold, dataset = timed(lambda: open_slices(config, "train", limit_cases=cases))
    reopened, dataset = timed(lambda: open_slices(config, "train", limit_cases=cases))
    epoch(dataset, batch_size)
    warm, slices = timed(lambda: epoch(dataset, batch_size))
    rates = f"{len(dataset) / cold:>8.0f} | {len(dataset) / reopened:>9.0f} | {slices / warm:>8.0f}"
    print(f"| {name:<30} | {len(dataset):>6} | {rates} |")


def main() -> None:
    """Time the settings, or one dataset on disk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", help="with --path: a dataset on disk instead of synthetic files")
    parser.add_argument("--path", help="its folder")
    parser.add_argument("--cases", type=int, help="at most so many cases")
    parser.add_argument("--batch-size", type=int, default=8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "slices a second on one thread; cold: read and prepare, open: find prepared ones, warm: batches of an epoch\n"
    )
    print("| data                           | slices |     cold |      open |     warm |")
    print("|--------------------------------|-------:|---------:|----------:|---------:|")
    with tempfile.TemporaryDirectory() as folder:
        if options.dataset:
            config = DataConfig(dataset=options.dataset, path=options.path, cache=folder)
            report(f"{options.dataset}, {config.protocol}", config, options.batch_size, options.cases)
            return
        for number, (name, setting) in enumerate(SETTINGS.items()):
            root = Path(folder) / str(number)
            write_phantom(
                setting["dataset"], root, cases={"train": 5}, shape=setting["shape"], slices=setting["slices"]
            )
            config = DataConfig(dataset=setting["dataset"], path=str(root), cache=str(root / "cache"))
            config = replace(config, protocol=setting.get("protocol", "magnitude"))
            report(name, config, options.batch_size, options.cases)


if __name__ == "__main__":
    main()
