"""A gallery written without a network: two cases, two methods."""

import numpy as np

from somamba.results.gallery import (
    KeptMeasurement,
    MeasurementFacts,
    MethodFacts,
    safe_name,
    write_measurement,
    write_method,
)
from somamba.results.record import nested


def measurement(*, slices=3, size=(16, 20), seed=0):
    """Random images, every other column measured."""
    draw = np.random.default_rng(seed)
    target = draw.random((slices, *size), dtype=np.float32)
    mask = np.broadcast_to(np.arange(size[1]) % 2 == 0, (1, *size)).copy()
    zero_filled = (target * (0.8 + 0.1j)).astype(np.complex64)
    return KeptMeasurement(target, zero_filled, mask, np.arange(2, 2 + slices, dtype=np.int32))


def measurement_facts(made, **changes):
    count = len(made.slices)
    facts = {
        "dataset": "acdc",
        "split": "val",
        "case": "patient001",
        "protocol": "magnitude",
        "mask": "golden-radial",
        "mask_digest": "0" * 16,
        "acceleration": 4.0,
        "realised_acceleration": 4.07,
        "coils": 1,
        "digest": made.digest(),
        "data_fingerprint": "1" * 16,
        "zero_filled_psnr": tuple(20.0 + i for i in range(count)),
        "zero_filled_ssim": (0.5,) * count,
        "version": "0.1.0",
        "commit": "unknown",
    }
    return nested(MeasurementFacts, facts | changes)


def method_facts(made, **changes):
    count = len(made.slices)
    facts = {
        "label": "so_mamba",
        "model": "so_mamba",
        "weights": "ab" * 8,
        "epochs": 2.5,
        "steps": 10,
        "seed": 3,
        "parameters": 1000,
        "psnr": tuple(30.0 + i for i in range(count)),
        "ssim": (0.9,) * count,
        "nmse": (0.01,) * count,
        "recipe": {"model": "so_mamba", "data": {"acceleration": 4.0}},
        "code": {"commit": "unknown"},
        "command": "somamba evaluate so_mamba",
        "measurement": made.digest(),
    }
    return nested(MethodFacts, facts | changes)


def write_gallery(folder, *, cases=("patient001", "patient<b>2"), labels=("so_mamba", "unet"), **shape):
    """Write and return the measurement of every case."""
    found = {}
    for seed, case in enumerate(cases):
        made = found[case] = measurement(seed=seed, **shape)
        write_measurement(folder / safe_name(case), made, measurement_facts(made, case=case))
        for factor, label in enumerate(labels, start=90):
            image = (made.target * (factor / 100)).astype(np.complex64)
            write_method(folder / safe_name(case), image, method_facts(made, label=label, model=label))
    return found
