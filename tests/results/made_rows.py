"""Scores of an evaluation that never was, for tests of tables."""

from somamba.results.record import flat, nested
from somamba.results.scores import ScoreRecord

FACTS = {
    "split": "test",
    "protocol": "magnitude",
    "mask": "radial",
    "mask_digest": "abcd",
    "realised_acceleration": 4.1,
    "slices": 10,
    "slices_left_out": 0,
    "epochs": 1.0,
    "seed": 0,
    "parameters": 10,
    "weights": "",
    "command": "somamba evaluate",
}


def changed(record, **changes):
    """The record with other values in some columns."""
    return nested(type(record), flat(record) | changes)


def rows(method, dataset, acceleration, *, psnr=(30.0,), ssim=None, nmse=None, split_cases=None):
    """One record for each PSNR given."""
    count = len(psnr)
    return [
        nested(
            ScoreRecord,
            FACTS
            | {
                "method": method,
                "dataset": dataset,
                "acceleration": float(acceleration),
                "case": f"case{i}",
                "psnr": float(psnr[i]),
                "ssim": (ssim or [0.8] * count)[i],
                "nmse": (nmse or [0.02] * count)[i],
                "cases": count,
                "split_cases": split_cases or count,
            },
        )
        for i in range(count)
    ]
