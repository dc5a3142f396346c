"""Rows of a leakage that was never measured."""

from somamba.results.leakage import LeakageRecord, Levels
from somamba.results.record import nested

FACTS = {
    "dataset": "acdc",
    "split": "val",
    "protocol": "magnitude",
    "mask": "golden-radial",
    "mask_digest": "cd" * 8,
    "acceleration": 4.0,
    "realised_acceleration": 4.07,
    "slices": 2,
    "radius": "corner",
    "split_cases": 20,
    "epochs": 3.0,
    "seed": 0,
    "parameters": 10,
    "weights": "ab" * 8,
    "command": "somamba leakage",
}


def leakage_rows(method="so_mamba", *, units=3, cases=("a", "b"), cutoffs=(0.25, 0.35), scale=1.0, **changes):
    """One row for each case, unit and cutoff; larger in later units, smaller at larger cutoffs."""
    rows = []
    for number, case in enumerate(cases, start=1):
        for unit in range(1, units + 1):
            for cutoff in cutoffs:
                levels = Levels(0.1 * unit * number * scale * (1 - cutoff), 0.01 * unit * (1 - cutoff))
                place = {"case": case, "unit": unit, "units": units, "cutoff": cutoff, "cases": len(cases)}
                numbers = {"method": method, **place, **levels._asdict(), "eta": levels.eta}
                rows.append(nested(LeakageRecord, numbers | FACTS | changes))
    return rows
