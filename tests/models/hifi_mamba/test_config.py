"""A HiFi-Mamba configuration: two variants, and words for what cannot be built."""

import pytest

from somamba.errors import ConfigError
from somamba.models.hifi_mamba.config import HiFiMambaConfig


def test_the_variant_decides_the_number_of_groups_unless_told():
    assert HiFiMambaConfig().stages == 6
    assert HiFiMambaConfig(variant="release").stages == 8
    assert HiFiMambaConfig(variant="release", groups=3).stages == 3


def test_the_release_splits_with_its_own_filter():
    assert HiFiMambaConfig(split="avgpool").band == "avgpool"
    assert HiFiMambaConfig(variant="release").band == "binomial"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": "release", "split": "avgpool"}, "Leave split out, or choose variant='paper'"),
        ({"groups": 0}, "groups=0 cannot be built"),
        ({"channels": 7}, "two streams"),
        ({"dropout": -0.1}, "dropout=-0.1 is no probability to train with; choose 0 to below 1"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(changes, message):
    with pytest.raises(ConfigError, match=message):
        HiFiMambaConfig(**changes)
