"""Streams that no network made."""

import numpy as np

from somamba.results.record import nested
from somamba.results.streams import RecordedStreams, StreamFacts


def recorded(*, units=3, evidence=True, seed=0):
    """Random pictures, spectra that fall."""
    draw = np.random.default_rng(seed)
    facts = nested(
        StreamFacts,
        {
            "method": "so_mamba", "weights": "ab" * 8, "epochs": 3.0, "seed": 0, "parameters": 10, "dataset": "acdc",
            "split": "val", "case": "patient001", "slice": 7, "protocol": "magnitude", "mask": "golden-radial",
            "mask_digest": "cd" * 8, "acceleration": 4.0, "realised_acceleration": 4.07, "command": "somamba streams",
        },
    )  # fmt: skip
    radius = ((np.arange(4) + 0.5) / 4).astype(np.float32)
    power = (draw.random((units, 4)) * np.exp(-5 * radius)).astype(np.float32)
    pictures = draw.random((units, 8, 10)).astype(np.float32)
    return RecordedStreams(
        facts=facts,
        target=draw.random((16, 20)).astype(np.float32),
        reconstruction=draw.random((16, 20)).astype(np.float32),
        carrier=pictures,
        evidence=pictures + 1 if evidence else None,
        radius=radius,
        carrier_power=power,
        evidence_power=power * 2 if evidence else None,
    )
