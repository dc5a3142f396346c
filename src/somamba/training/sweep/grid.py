"""A grid: several trainings from one recipe under one budget, each with a name and what it does differently.

    base: acdc_cpu_x4.yaml      the recipe, found from where the grid is
    minutes: 15                 of training for every run; left out, the recipe's epochs decide
    shared: {seed: 1}           what all runs do differently from the recipe, if anything
    runs:
      - {name: unet, model: unet}
      - {name: shallow, model: so_mamba, network: {groups: 4}}

Whatever a recipe may say can stand in ``shared`` and in a run; unknown words are refused before anything starts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from somamba.errors import ConfigError, SomambaError, UnknownNameError
from somamba.registry import Registry
from somamba.training.recipe import Recipe, read_recipe, read_yaml

KEYS = Registry("key of a grid", dict.fromkeys(("base", "minutes", "shared", "runs")))
# The name of a run is that of a folder: nothing that leaves its place, hides, or is the summary's file.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Trainings by name, in the order in which they run."""

    path: Path
    runs: Registry[Recipe]


def read_grid(path: Path, overrides: Sequence[str] = ()) -> Grid:
    """Read a grid from a YAML file; options such as ``--data.path=FOLDER`` override fields of every run.

    Raises:
        ConfigError: a key is unknown, a name double or unfit for a folder, or a run is no recipe.
    """
    values = read_yaml(path)
    try:
        _ = [KEYS[str(key)] for key in values]
    except UnknownNameError as error:
        raise ConfigError(f"{path}: {error}") from None
    base, entries = values.get("base"), values.get("runs")
    if not isinstance(base, str):
        raise ConfigError(f"{path} must name the recipe that its runs share, such as base: acdc_cpu_x4.yaml.")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path} must list its runs, such as runs: [{{name: unet, model: unet}}].")
    shared = values.get("shared") or {}
    if not isinstance(shared, dict) or "minutes" in shared:
        raise ConfigError(f"{path}: shared must be a table of fields other than minutes, it is {shared!r}.")
    budget = {} if values.get("minutes") is None else {"minutes": values["minutes"]}
    runs: dict[str, Recipe] = {}
    for number, entry in enumerate(entries, start=1):
        name, changes = _named(path, number, entry)
        if name in runs:
            raise ConfigError(f"{path}: two runs are named {name!r}; every run has a folder of its own.")
        try:
            runs[name] = read_recipe(path.parent / base, overrides, changes=[shared, changes, budget])
        except SomambaError as error:
            raise ConfigError(f"{path}, run {name!r}: {error}") from None
    return Grid(path=path, runs=Registry("run", runs))


def _named(path: Path, number: int, entry: Any) -> tuple[str, dict[str, Any]]:
    """The name of a run, and its table of changes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ConfigError(f"{path}: run {number} must be a table with a name, it is {entry!r}.")
    name = entry["name"]
    if not NAME.fullmatch(name):
        raise ConfigError(f"{path}: the name {name!r} cannot be a folder's; use letters, digits, '_' and '-'.")
    if "minutes" in entry:
        raise ConfigError(f"{path}, run {name!r}: the budget is one for all; state minutes once, above the runs.")
    return name, {key: value for key, value in entry.items() if key != "name"}
