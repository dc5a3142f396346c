"""An LMO configuration says what cannot be built."""

import pytest

from somamba.errors import ConfigError
from somamba.models.lmo.config import LMOConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"channels": 5}, "cannot be paired to complex maps"),
        ({"depth": 0}, "depth=0 cannot be built"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(changes, message):
    with pytest.raises(ConfigError, match=message):
        LMOConfig(**changes)


def test_magnitudes_need_no_pairs():
    assert LMOConfig(channels=5, feature_dc="magnitude").maps == 5
    assert LMOConfig(channels=6).maps == 3
