"""Bounds that cannot be meant are refused."""

import pytest

from somamba.data.simulation.augmentation_config import Augmentation
from somamba.errors import ConfigError


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"acceleration": (8, 3)}, r"augmentation.acceleration=\(8, 3\) must rise"),
        ({"acceleration": (0.5, 3)}, "from 1 at least"),
        ({"coils": (0, 3)}, "augmentation.coils"),
        ({"snr": (0, 100)}, "augmentation.snr"),
        ({"snr": (float("nan"), 100)}, "augmentation.snr"),
        ({"masks": ()}, "augmentation.masks is empty"),
        ({"scalp": 1.5}, "augmentation.scalp=1.5 is a share"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        Augmentation(**wrong)
