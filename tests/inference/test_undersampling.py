"""Lines are left out of a full scan as asked."""

import pytest

from somamba.errors import ConfigError, InputError, UnknownNameError
from somamba.inference.undersampling import Undersampling
from somamba.physics.masks import make_mask


def test_the_centre_has_the_lines_that_were_asked_for():
    mask = Undersampling(acceleration=4, mask="random", calibration=16, seed=3).pattern((10, 128))
    assert mask.calibration >= 16
    assert len(mask.lines) == 32


def test_the_seed_names_the_draw():
    first, second = (Undersampling(mask="random", seed=seed).pattern((10, 128)) for seed in (0, 1))
    assert first != second
    assert first == Undersampling(mask="random", seed=0).pattern((10, 128))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"acceleration": 1}, ConfigError),
        ({"acceleration": float("nan")}, ConfigError),
        ({"mask": "spiral"}, UnknownNameError),
        ({"mask": "golden-radial", "calibration": 8}, ConfigError),
        ({"calibration": -1}, ConfigError),
    ],
)
def test_what_makes_no_mask_is_refused(options, error):
    with pytest.raises(error):
        Undersampling(**options)


def test_more_calibration_lines_than_the_acceleration_allows_are_refused():
    with pytest.raises(InputError, match=r"centre of 40.*at most 31 calibration columns"):
        Undersampling(acceleration=4, calibration=40).pattern((10, 128))


@pytest.mark.parametrize(("acceleration", "columns", "lines"), [(4, 224, 18), (8, 224, 12), (8, 64, 6)])
def test_several_coils_keep_lines_enough_to_estimate_maps_from(acceleration, columns, lines):
    undersampling = Undersampling(acceleration=acceleration)
    assert undersampling.pattern((10, columns), coils=2).calibration >= lines
    assert undersampling.pattern((10, columns), coils=2).realised_acceleration == pytest.approx(acceleration, rel=0.05)
    assert undersampling.pattern((10, columns)) == make_mask(
        "equispaced", shape=(10, columns), acceleration=acceleration
    )
