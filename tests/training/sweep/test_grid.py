"""A grid is one recipe and what each run does differently; what cannot run is refused before anything starts."""

from pathlib import Path

import pytest
import yaml

from somamba.errors import ConfigError
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS
from somamba.report.names import METHODS as PAPER
from somamba.training.sweep.grid import read_grid
from training.test_recipe import FILES, SHIPPED

GRIDS = [path for path in FILES if path not in SHIPPED]
METHODS = ["unet", "ista_net", "transunet", "reconformer", "fps_former", "mamba_unet", "lmo", "hifi_mamba", "so_mamba"]
BASE = "epochs: 3\nbatch_size: 2\nseed: 4\noptimiser:\n  warmup_epochs: 0.5\n"


def write(folder, text, base=BASE):
    (folder / "base.yaml").write_text(base)
    (folder / "grid.yaml").write_text(text)
    return folder / "grid.yaml"


def test_runs_differ_in_what_their_table_says(tmp_path):
    grid = read_grid(
        write(
            tmp_path,
            """
            base: base.yaml
            minutes: 15
            shared: {validation_cases: 3, network: {units: 1}}
            runs:
              - {name: full, model: so_mamba}
              - {name: closed, model: without_access, seed: 1, network: {groups: 2}}
            """,
        ),
        ["--data.path", "elsewhere"],
    )
    full, closed = grid.runs.values()
    assert list(grid.runs) == ["full", "closed"]
    assert [(r.model, r.seed, r.network.groups, r.network.units) for r in (full, closed)] == [
        ("so_mamba", 4, 6, 1),
        ("without_access", 1, 2, 1),
    ]
    for recipe in (full, closed):
        assert (recipe.epochs, recipe.minutes, recipe.validation_cases, recipe.data.path) == (3, 15, 3, "elsewhere")


def test_without_minutes_epochs_decide(tmp_path):
    grid = read_grid(write(tmp_path, "base: base.yaml\nruns: [{name: a}]"))
    assert (grid.runs["a"].minutes, grid.runs["a"].epochs) == (None, 3)


def test_options_come_after_everything(tmp_path):
    path = write(tmp_path, "base: base.yaml\nminutes: 15\nruns: [{name: a, seed: 1}, {name: b}]")
    assert {(run.minutes, run.seed) for run in read_grid(path, ["--minutes=1", "--seed=9"]).runs.values()} == {(1, 9)}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("bass: base.yaml", "No key of a grid is named 'bass'. Did you mean 'base'"),
        ("runs: [{name: a}]", "must name the recipe"),
        ("base: base.yaml", "must list its runs"),
        ("base: base.yaml\nruns: {}", "must list its runs"),
        ("base: base.yaml\nruns: [{model: unet}]", "run 1 must be a table with a name"),
        ("base: base.yaml\nruns: [a]", "run 1 must be a table with a name, it is 'a'"),
        ("base: base.yaml\nruns: [{name: a}, {name: b}, {name: a}]", "two runs are named 'a'"),
        ("base: base.yaml\nruns: [{name: ../a}]", "cannot be a folder's"),
        ("base: base.yaml\nruns: [{name: grid.csv}]", "cannot be a folder's"),
        ("base: base.yaml\nruns: [{name: a, minutes: 3}]", "run 'a': the budget is one for all"),
        ("base: base.yaml\nshared: {minutes: 3}\nruns: [{name: a}]", "other than minutes"),
        ("base: base.yaml\nshared: [seed]\nruns: [{name: a}]", "shared must be a table"),
        ("base: base.yaml\nruns: [{name: a, sed: 3}]", r"run 'a': .*base\.yaml: There is no field 'sed'"),
        ("base: base.yaml\nruns: [{name: a, network: {goups: 3}}]", "run 'a': .*goups"),
        ("base: base.yaml\nruns: [{name: a, model: so_manba}]", "run 'a': No model is named 'so_manba'. Did you mean"),
        ("base: base.yaml\nminutes: 0\nruns: [{name: a}]", "run 'a': minutes=0"),
        ("base: base.yaml\nminutes: soon\nruns: [{name: a}]", "soon"),
        ("base: absent.yaml\nruns: [{name: a}]", r"absent\.yaml"),
        ("- a list", "table of settings"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(tmp_path, text, complaint):
    with pytest.raises(ConfigError, match=complaint):
        read_grid(write(tmp_path, text))


def test_an_unknown_run_gets_a_suggestion(tmp_path):
    with pytest.raises(KeyError, match=r"No run is named 'fulll'\. Did you mean 'full'"):
        read_grid(write(tmp_path, "base: base.yaml\nruns: [{name: full}]")).runs["fulll"]


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_every_shipped_grid_names_its_models_and_gives_them_one_budget(path):
    grid = read_grid(path)
    stems = {name: name.partition("_seed")[0] for name in grid.runs}
    networks = {recipe.model: recipe.network for name, recipe in grid.runs.items() if stems[name] == recipe.model}
    for name, recipe in grid.runs.items():
        # What follows the model in a name stands for another network of that model.
        other = recipe.network != networks.get(recipe.model, MODELS[recipe.model].config)
        assert stems[name].startswith(f"{recipe.model}_") if other else stems[name] == recipe.model
    assert len({(recipe.minutes, recipe.epochs, recipe.batch_size) for recipe in grid.runs.values()}) == 1


def test_the_shipped_grids_are_those_of_the_paper():
    names = {path.stem: [run["name"] for run in yaml.safe_load(path.read_text())["runs"]] for path in GRIDS}
    assert sorted(names["acdc_cpu_x4_methods"]) == sorted(METHODS)
    assert set(METHODS) <= set(PAPER)
    ownership, leakage = names["acdc_cpu_x4_ownership"], names["acdc_cpu_x4_leakage"]
    learned = {"residency_channel", "residency_token", "residency_unit"}
    assert set(ownership) | set(leakage) | learned | {"so_mamba_adaptive"} == set(VARIANTS)
    adaptive = {"so_mamba", "content_residency", *learned}
    assert sorted(names["acdc_cpu_x4_adaptive"]) == sorted(f"{name}_seed{seed}" for name in adaptive for seed in (0, 1))
    assert (len(ownership), len(leakage)) == (6, 5)


def test_grids_that_share_runs_train_them_alike():
    ownership, leakage = (read_grid(Path(GRIDS[0].parent, f"acdc_cpu_x4_{n}.yaml")) for n in ("ownership", "leakage"))
    for name in set(ownership.runs) & set(leakage.runs):
        assert ownership.runs[name] == leakage.runs[name]
