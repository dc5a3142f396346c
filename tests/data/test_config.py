"""A data configuration that cannot be meant is refused; one that stands is recorded in full."""

import json
from dataclasses import replace

import pytest

from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.errors import ConfigError, UnknownNameError
from somamba.settings import from_plain, to_plain


def test_the_defaults_are_the_papers_for_acdc():
    config = DataConfig()
    assert (config.dataset, config.protocol, config.acceleration) == ("acdc", "magnitude", 4)
    assert (config.target_size, config.mask_kind, config.draws_masks) == ((128, 128), "golden-radial", False)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"acceleration": 0.5}, "acceleration=0.5 must lie between 1 and 1024"),
        ({"acceleration": float("nan")}, "acceleration=nan must lie between 1 and 1024"),
        ({"size": (4, 128)}, "at least 8 rows"),
        ({"snr": 20.0}, "belong to protocol 'raw'"),
        ({"protocol": "raw"}, "cannot be drawn per slice. Set masks: fixed"),
        ({"dataset": "m4raw", "protocol": "raw", "snr": -1.0}, "snr=-1.0 must be positive"),
        (
            {"dataset": "m4raw", "protocol": "raw", "combine": "sense", "mask": "golden-radial", "masks": "fixed"},
            "Maps are estimated from fully acquired central columns",
        ),
        ({"n_coils": 0}, "n_coils=0 must lie between 1 and 1024"),
        ({"augmentation": Augmentation()}, "augmentation belongs to protocol 'raw'"),
        (
            {"dataset": "m4raw", "protocol": "raw", "augmentation": Augmentation()},
            "augmentation belongs to protocol 'raw'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        DataConfig(**wrong)


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'acdc'"):
        DataConfig(dataset="acd")
    with pytest.raises(UnknownNameError, match="No mask is named 'spiral'"):
        DataConfig(mask="spiral")


def test_masks_and_acceleration_do_not_touch_prepared_slices():
    one = DataConfig(acceleration=4)
    assert one.preparation() == replace(one, acceleration=8, mask="random", seed=3).preparation()
    assert one.preparation() != replace(one, size=(64, 64)).preparation()


def test_maps_depend_on_the_centre_that_is_acquired():
    one = DataConfig(dataset="m4raw", protocol="raw", combine="sense", acceleration=4)
    assert one.preparation() != replace(one, acceleration=8).preparation()


def test_the_record_is_complete_and_plain():
    facts = DataConfig(dataset="m4raw", protocol="raw", masks="fixed", snr=30.0).facts()
    assert json.loads(json.dumps(facts))["snr"] == 30.0
    assert {"dataset", "protocol", "acceleration", "mask", "masks", "size", "seed", "combine"} <= facts.keys()


def test_raw_kspace_keeps_its_size_unless_told_otherwise():
    assert DataConfig(dataset="fastmri", protocol="raw").target_size is None
    assert DataConfig(dataset="fastmri", protocol="raw", size=(320, 320)).target_size == (320, 320)
    assert DataConfig(dataset="fastmri").target_size == (320, 320)


def test_augmentation_is_recorded_and_does_not_touch_prepared_slices():
    config = DataConfig(dataset="brain_t1w", protocol="raw", combine="coils", augmentation=Augmentation(coils=(2, 3)))
    assert config.preparation() == replace(config, augmentation=None).preparation()
    assert json.loads(json.dumps(config.facts()))["augmentation"]["coils"] == [2, 3]
    assert DataConfig().facts()["augmentation"] is None


def test_one_acceleration_may_be_asked_of_an_augmentation():
    config = DataConfig(dataset="brain_t1w", protocol="raw", augmentation=Augmentation()).accelerated(5)
    assert (config.acceleration, config.augmentation.acceleration) == (5, (5, 5))
    assert DataConfig().accelerated(8).acceleration == 8


def test_an_augmentation_goes_through_plain_values_and_back():
    config = DataConfig(dataset="brain_t1w", protocol="raw", augmentation=Augmentation(masks=("random",), snr=(30, 40)))
    assert from_plain(DataConfig(), to_plain(config), source="here") == config
    assert from_plain(DataConfig(), {}, source="here") == DataConfig()


def test_an_augmentation_is_read_by_its_old_name():
    table = {"dataset": "brain_t1w", "protocol": "raw", "variety": {"coils": [2, 3]}}
    assert from_plain(DataConfig(), table, source="here").augmentation == Augmentation(coils=(2, 3))
    with pytest.raises(ConfigError, match="the old and the new name of one field"):
        from_plain(DataConfig(), table | {"augmentation": None}, source="here")
