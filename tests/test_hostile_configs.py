"""Every field of every config refuses values that make no sense, with an error of ours and at once.

The fields are found in the classes, so that a new field is covered without a word here.
"""

import math
import os
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import reduce
from typing import get_args, get_type_hints

import pytest
import torch
import yaml

from models.small import shrink
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.errors import SomambaError
from somamba.models.bounded import at_most
from somamba.models.zoo import MODELS
from somamba.settings import from_plain
from somamba.training.recipe import Machine, Optimiser, Recipe, read_recipe

NEVER = {int: (2**70, -(2**70), math.inf), float: (math.inf, math.nan)}
"""Numbers that no field takes, by the kind of number that it is for."""
ODD = (-1, 10**9, "no such word", [[1]], {"a": 1}, None)
"""Values that some fields take and others refuse; none may end in anything but a config or an error of ours."""


def leaves(kind, path=()):
    """The path of every field, nested ones included, and the kind of numbers that it takes, if any."""
    hints = get_type_hints(kind)
    for item in fields(kind):
        parts = (hints[item.name], *get_args(hints[item.name]))
        nested = next((part for part in parts if is_dataclass(part)), None)
        if nested is not None:
            yield from leaves(nested, (*path, item.name))
        else:
            flat = {inner for part in parts for inner in (part, *get_args(part))}
            yield (*path, item.name), float if float in flat else int if int in flat else None


def table(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


CONFIGS = {type(entry.config): entry.config for entry in MODELS.values()}
CONFIGS |= {kind: kind() for kind in (DataConfig, Augmentation, Optimiser, Machine)}
CASES = [
    pytest.param(kind, path, number, id=f"{kind.__name__}.{'.'.join(path)}")
    for kind in CONFIGS
    for path, number in leaves(kind)
]


def test_there_are_many_fields():
    assert len(CASES) > 100
    assert {"SOMambaConfig.mixer.d_state", "DataConfig.mask_options", "Optimiser.betas"} <= {case.id for case in CASES}


@pytest.mark.parametrize(("kind", "path", "number"), CASES)
def test_a_field_takes_no_nonsense(kind, path, number):
    for value in NEVER.get(number, ()):
        for shaped in (value, [value, value]):
            with pytest.raises(SomambaError):
                from_plain(CONFIGS[kind], table(path, shaped), source="x")
    for value in ODD:
        with suppress(SomambaError):
            from_plain(CONFIGS[kind], table(path, value), source="x")


NETWORKS = {type(entry.config): entry for entry in MODELS.values()}
SIZES = (0, 1, 3, 16_384, 10**9)


@pytest.mark.parametrize(("kind", "path", "number"), [case for case in CASES if case.values[0] in NETWORKS])
def test_a_network_of_any_size_is_built_or_refused_at_once(kind, path, number):
    """Sizes are refused by the config, or while the network is built, before it takes memory or a second."""
    small = shrink(NETWORKS[kind].config)
    usual = reduce(getattr, path, small)
    for value in SIZES if number is not None else ():
        shapes = [[value] * len(usual), [1] * 40] if isinstance(usual, tuple) else [value]
        for shaped in shapes:
            with suppress(SomambaError), at_most(10**7, 300, source="x"), torch.device("meta"):
                NETWORKS[kind].build(from_plain(small, table(path, shaped), source="x"))


@pytest.mark.parametrize(
    "text",
    [
        f"seed: {2**70}",
        "seed: -1",
        "minutes: .inf",
        "epochs: 1000000000000",
        "tilt: 1.5",
        "tilt: -0.1",
        "batch_size: 10000000000",
        "optimiser: {betas: [2, 3]}",
        "machine: {threads: 1000000000}",
        "machine: {workers: -3}",
        "network: {groups: 1000000000}",
        "network: {channels: 1000000000000}",
        "data: {mask_options: {spokes: 1.0e9}}",
        "data: {size: [100000, 100000]}",
        "anneal: {step: -1, epochs: 2}",
        "model: [so_mamba]",
    ],
)
def test_a_recipe_with_absurd_numbers_is_refused(tmp_path, text):
    (tmp_path / "recipe.yaml").write_text(text)
    with pytest.raises(SomambaError):
        read_recipe(tmp_path / "recipe.yaml")


NESTED = ["config", "data", "optimiser", "machine", "network", "anneal", "data.augmentation", "data.variety"]
NESTED += ["network.mixer"]


@pytest.mark.parametrize("name", NESTED)
def test_no_other_file_is_read_or_printed(tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("password: hunter2\n")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(table(name.split("."), str(secret))))
    with pytest.raises(SomambaError) as refused:
        read_recipe(recipe)
    assert "hunter2" not in str(refused.value)


def test_an_option_reads_no_other_file(tmp_path):
    (tmp_path / "recipe.yaml").write_text("epochs: 7\n")
    (tmp_path / "secret").write_text("password: hunter2\n")
    with pytest.raises(SomambaError, match="no option --config"):
        read_recipe(tmp_path / "recipe.yaml", [f"--config={tmp_path / 'secret'}"])


def test_a_pipe_or_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for path, complaint in ((tmp_path / "pipe.yaml", "named pipe"), (tmp_path, "folder"), (tmp_path / "no", "No such")):
        with pytest.raises(SomambaError, match=complaint):
            read_recipe(path)


def test_every_field_of_a_recipe_is_covered():
    nested = {"network", "data", "optimiser", "machine", "anneal"}
    plain = {item.name for item in fields(Recipe)} - nested
    assert plain == {
        *("model", "loss", "epochs", "minutes", "batch_size", "mirror", "turn", "tilt", "bf16", "seed"),
        *("validate_every", "validation_cases"),
    }
