"""A ReconFormer that cannot be built is refused in words."""

import pytest

from somamba.errors import ConfigError
from somamba.models.recon_former.config import ReconFormerConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 2}, "iterations=2 cannot be built; it must be at least 3"),
        ({"heads": 4}, "heads=4 cannot be shared out among 3 scales"),
        ({"channels": (96, 50, 24)}, "50 must be a multiple of heads=6"),
        ({"channels": (96, 48, 6)}, "each must be at least 12"),
        ({"depths": (2, 0, 1)}, r"depths=\(2, 0, 1\) cannot be built"),
        ({"window": 1}, "window=1 cannot be built"),
    ],
    ids=str,
)
def test_what_cannot_be_built_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        ReconFormerConfig(**change)
