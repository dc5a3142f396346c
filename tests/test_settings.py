"""Configs survive the way through plain values; what is not a config does not become one."""

from dataclasses import replace

import pytest
import yaml

from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.models.zoo import MODELS
from somamba.settings import flat, from_plain, to_plain


@pytest.mark.parametrize("name", MODELS)
def test_every_models_config_comes_back_through_yaml(name):
    config = MODELS[name].config
    assert from_plain(config, yaml.safe_load(yaml.safe_dump(to_plain(config))), source="x") == config


def test_what_is_left_out_keeps_the_value_of_the_default():
    default = MODELS["without_access"].config
    assert from_plain(default, {"mixer": {"rank": 2}}, source="x") == replace(
        default, mixer=replace(default.mixer, rank=2)
    )


def test_tables_and_pairs_come_back():
    config = DataConfig(size=(64, 48), mask_options={"spokes": 9.0})
    assert from_plain(DataConfig(), to_plain(config), source="x") == config


@pytest.mark.parametrize(
    "values", [{"groupz": 1}, {"groups": "six"}, {"groups": 1.5}, {"mixer": {"x": 1}}, {"mixer": 3}, {"groups": 0}]
)
def test_what_does_not_fit_is_refused(values):
    with pytest.raises(ConfigError):
        from_plain(MODELS["so_mamba"].config, values, source="file")


def test_nested_tables_become_dotted_names():
    assert flat({"a": 1, "b": {"c": {"d": 2}, "e": {}}}) == {"a": 1, "b.c.d": 2, "b.e": {}}
