"""An FPS-Former that cannot be built is refused in words."""

import pytest

from somamba.errors import ConfigError
from somamba.models.fps_former.config import FpsFormerConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channels": 7, "heads": (1, 1, 1, 1)}, "channels=7 is odd"),
        ({"heads": (5, 2, 4, 8)}, "Level 0 cannot be built: heads=5"),
        ({"blocks": (1, 2, 0, 1)}, "cannot be built; each must be at least 1"),
        ({"bands": 0}, "bands=0 cannot be built"),
        ({"coils": 0}, "coils=0 cannot be built"),
    ],
    ids=str,
)
def test_what_cannot_be_built_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        FpsFormerConfig(**change)


def test_another_mode_is_refused():
    config = FpsFormerConfig()
    object.__setattr__(config, "mode", "dc")  # the shape checker of the tests would catch it in the constructor
    with pytest.raises(ConfigError, match="mode='dc' is not known to FpsFormerConfig; choose from as_published, "):
        config.__post_init__()


def test_the_paper_is_the_default():
    assert FpsFormerConfig().mode == "+dc"
