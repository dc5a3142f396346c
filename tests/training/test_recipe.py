"""A recipe is one record, whether it comes from a file, the command line or a checkpoint."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from somamba.errors import ConfigError, UnknownNameError
from somamba.models.zoo import MODELS
from somamba.training.loop import build_model
from somamba.training.recipe import (
    Machine,
    Optimiser,
    Recipe,
    differences,
    read_recipe,
    recipe_from_plain,
    recorded,
)

FILES = sorted(Path(__file__).parents[2].joinpath("recipes").glob("*.yaml"))
SHIPPED = [path for path in FILES if "runs" not in yaml.safe_load(path.read_text())]  # The others are grids.
PAPER = {f"{name}_x{factor}" for name in ("fastmri", "cc359", "acdc", "m4raw", "prostate158") for factor in (4, 8)}


def default(**changes):
    return Recipe(network=MODELS["so_mamba"].config, **changes)


def test_the_defaults_are_the_papers():
    recipe = default()
    assert (recipe.model, recipe.loss, recipe.epochs) == ("so_mamba", "l1", 100)
    assert (recipe.optimiser.learning_rate, recipe.optimiser.warmup_epochs) == (8e-4, 5)


def test_every_setting_of_tables_1_and_2_has_a_recipe():
    assert {path.stem for path in SHIPPED} >= PAPER | {"acdc_cpu_x4", "acdc_cpu_x8"}


def test_the_recipe_for_raw_scans_is_compact_and_as_varied_as_promised():
    (path,) = (path for path in SHIPPED if path.stem == "brain_raw")
    recipe = read_recipe(path)
    assert (recipe.data.dataset, recipe.data.protocol, recipe.data.combine) == ("brain_t1w", "raw", "sense")
    drawn = recipe.data.augmentation
    assert (drawn.masks, drawn.acceleration, drawn.calibration) == (("equispaced", "random"), (3, 8), (16, 32))
    assert 0.3e6 < sum(p.numel() for p in build_model(recipe).parameters()) < 0.6e6
    assert recipe_from_plain(recorded(recipe), source="here") == replace(
        recipe, data=replace(recipe.data, path="data/acdc")
    )


def test_a_recipe_is_read_by_the_old_names_of_its_fields(tmp_path):
    (path,) = (path for path in SHIPPED if path.stem == "brain_raw")
    old = tmp_path / "old.yaml"
    old.write_text(path.read_text().replace("augmentation:", "variety:"))
    assert "variety" in old.read_text()
    assert read_recipe(old) == read_recipe(path)


def test_the_second_recipe_for_raw_scans_learns_from_estimated_maps_of_whole_heads():
    (path,) = (path for path in SHIPPED if path.stem == "brain_raw_2")
    recipe = read_recipe(path)
    augmentation = recipe.data.augmentation
    assert (recipe.data.dataset, augmentation.maps, augmentation.compressed) == ("heads_and_brains", "estimated", 12)
    assert (augmentation.acceleration, augmentation.calibration, augmentation.coils) == ((2, 10), (12, 32), (4, 32))
    assert recipe.network.routes.residency
    assert 4 * sum(p.numel() for p in build_model(recipe).parameters()) < 12e6
    assert recipe_from_plain(recorded(recipe), source="here") == replace(
        recipe, data=replace(recipe.data, path="data/acdc")
    )


def test_the_recipe_for_a_folder_of_images_is_small_and_short():
    (path,) = (path for path in SHIPPED if path.stem == "folder")
    recipe = read_recipe(path)
    assert (recipe.data.dataset, recipe.data.protocol, recipe.data.acceleration) == ("folder", "magnitude", 4)
    assert sum(p.numel() for p in build_model(recipe).parameters()) < 0.2e6


@pytest.mark.parametrize(
    "path",
    [path for path in SHIPPED if not path.stem.startswith(("brain_raw", "folder"))],
    ids=lambda path: path.stem,
)
def test_every_shipped_recipe_can_be_built_and_is_what_its_name_says(path):
    recipe = read_recipe(path)
    dataset, *_, factor = path.stem.split("_")
    assert (recipe.data.dataset, f"x{recipe.data.acceleration:g}") == (dataset, factor)
    assert recipe.data.protocol == ("raw" if dataset == "m4raw" else "magnitude")
    kinds = {"adaptive": "so_mamba_adaptive", "residency": "content_residency"}
    assert recipe.model == next((model for kind, model in kinds.items() if kind in path.stem), "so_mamba")
    assert replace(recipe.network, coils=1) == MODELS[recipe.model].config
    assert 1.8e6 < sum(p.numel() for p in build_model(recipe).parameters()) < 1.9e6
    if path.stem in PAPER:
        assert (recipe.epochs, recipe.optimiser) == (100, Optimiser())


def write(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return path


def test_options_override_the_file(tmp_path):
    path = write(tmp_path, "epochs: 7\nnetwork:\n  groups: 2\n  mixer:\n    rank: 2\n")
    overrides = ["--network.mixer.rank=3", "--optimiser.learning_rate", "1e-5", "--optimiser.betas=[0.8,0.9]"]
    recipe = read_recipe(path, overrides)
    assert (recipe.epochs, recipe.network.groups, recipe.network.mixer.rank) == (7, 2, 3)
    assert (recipe.optimiser.learning_rate, recipe.optimiser.betas) == (1e-5, (0.8, 0.9))


def test_the_model_decides_what_network_may_say(tmp_path):
    recipe = read_recipe(write(tmp_path, "model: without_access\nnetwork:\n  groups: 2\n"))
    assert recipe.network == replace(MODELS["without_access"].config, groups=2)
    assert read_recipe(write(tmp_path, "epochs: 6\n"), ["--model", "without_access"]).model == "without_access"
    with pytest.raises(ConfigError, match="groups"):
        read_recipe(write(tmp_path, "model: zero_filled\nnetwork:\n  groups: 2\n"))


def test_changes_come_between_the_file_and_the_options(tmp_path):
    path = write(tmp_path, "epochs: 7\nseed: 1\nnetwork:\n  groups: 2\n  units: 1\n")
    changes = [{"model": "without_access", "seed": 2, "network": {"groups": 3}}, {}, {"minutes": 2, "epochs": 6}]
    recipe = read_recipe(path, ["--seed=5"], changes=changes)
    assert (recipe.model, recipe.epochs, recipe.minutes, recipe.seed) == ("without_access", 6, 2.0, 5)
    assert recipe.network == replace(MODELS["without_access"].config, groups=3, units=1)
    with pytest.raises(ConfigError, match="goups"):
        read_recipe(path, changes=[{"network": {"goups": 1}}])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epoch: 7", "epoch"),
        ("optimiser:\n  lr: 1", "lr"),
        ("network:\n  mixer:\n    ranks: 2", "ranks"),
        ("epochs: many", "many"),
        ("loss: l3", "l3"),
        ("epochs: 0", "epochs=0 must be positive"),
        ("minutes: 0", "minutes=0"),
        ("batch_size: 0", "batch_size=0"),
        ("epochs: 5", "warmup_epochs=5 leaves nothing of epochs=5"),
        ("optimiser:\n  learning_rate: 0", "learning_rate"),
        ("optimiser:\n  learning_rate: .nan", "learning_rate"),
        ("optimiser:\n  final_rate: 1", "final_rate"),
        ("machine:\n  micro_batch: 0", "micro_batch=0"),
        ("- a list", "table of settings"),
        ("a: [", "cannot be read"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(tmp_path, text, complaint):
    with pytest.raises(ConfigError, match=complaint):
        read_recipe(write(tmp_path, text))


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        read_recipe(tmp_path / "absent.yaml")


def test_an_unknown_model_is_named(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'so_mamba'"):
        read_recipe(write(tmp_path, "model: so_manba"))


def test_a_network_of_another_model_is_refused():
    with pytest.raises(ConfigError, match="needs network: ZeroFilledConfig"):
        default(model="zero_filled")


def test_a_record_becomes_the_same_recipe_through_yaml():
    recipe = default(machine=Machine(threads=2), optimiser=Optimiser(betas=(0.5, 0.6)))
    recipe = replace(recipe, data=replace(recipe.data, size=(64, 48), mask_options={"spokes": 9.0}))
    record = yaml.safe_load(yaml.safe_dump(recorded(recipe)))
    assert recipe_from_plain(record, source="x") == recipe
    assert differences(recipe, record, source="x") == []


def test_a_record_does_not_say_where_files_lie():
    recipe = default()
    recipe = replace(recipe, data=replace(recipe.data, path="/secret/place", cache="/secret/cache"))
    assert "secret" not in str(recorded(recipe))


def test_a_record_of_an_older_version_differs_in_nothing_but_names():
    record = recorded(default())
    record["network"]["routes"]["residency"] = False
    assert differences(default(), record, source="x") == []


def test_old_values_in_a_recipe_and_in_the_table_of_a_grid_are_read(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("network: {routes: {residency: true}}\n")
    assert read_recipe(path).network.routes.residency == "full"
    changes = [{"network": {"routes": {"residency": False}}}]
    assert read_recipe(path, changes=changes).network.routes.residency == "none"


def test_differences_name_what_changed_and_forgive_the_machine():
    record = recorded(default(epochs=50))
    assert differences(default(machine=Machine(threads=7)), record, source="x") == ["epochs: 50 -> 100"]
