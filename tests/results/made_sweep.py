"""Runs of a sweep that never ran."""

from somamba.results.record import nested
from somamba.results.sweep import SweepRecord


def sweep_row(run, **changes):
    """A run of a quarter of an hour, named like its model."""
    facts = {
        "run": run,
        "model": run,
        "seed": 0,
        "minutes": 15.0,
        "seconds": 900.5,
        "steps": 606,
        "batch_size": 2,
        "slices_per_second": 1.346,
        "epochs": 0.81,
        "parameters": 342_162,
        "dataset": "acdc",
        "split": "val",
        "protocol": "magnitude",
        "mask": "golden-radial",
        "acceleration": 4.0,
        "realised_acceleration": 4.067,
        "cases": 20,
        "psnr": 31.0155,
        "ssim": 0.8842,
        "nmse": 0.0103,
        "weights": "5c82c1dd",
        "command": "somamba sweep x",
    }
    return nested(SweepRecord, facts | changes)
