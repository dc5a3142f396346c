"""A model is opened from its folder alone, or by name where there is nothing to learn."""

import hashlib
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from inference.checkpoints import save_tiny
from somamba.errors import ConfigError, InputError
from somamba.inference.weights.checkpoint import Checkpoint, named_in_sums, read_checkpoint, save_checkpoint
from somamba.inference.weights.released import weights_folder
from somamba.inference.weights.trained import DEFAULT, FOLDER, bundled_weights, open_model, open_weights
from somamba.models.zoo import MODELS
from somamba.settings import to_plain

PROJECT = Path(__file__).parents[3]
NETWORK = replace(MODELS["so_mamba"].config, groups=1, units=1)
CONFIG = {
    "recipe": {"model": "so_mamba", "network": to_plain(NETWORK), "data": {"dataset": "acdc"}, "seed": 7},
    "protocol": "magnitude",
    "step": 30,
    "steps_per_epoch": 20,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("run") / "best"
    save_checkpoint(folder, Checkpoint(MODELS["so_mamba"].build(NETWORK).state_dict(), CONFIG))
    return folder


def test_a_folder_is_all_it_needs(folder):
    trained = open_model(str(folder))
    assert (trained.name, trained.protocol, trained.epochs, trained.seed) == ("so_mamba", "magnitude", 1.5, 7)
    assert trained.model.config == NETWORK
    assert not trained.model.training
    assert trained.data("x").dataset == "acdc"
    stored = read_checkpoint(folder).weights
    assert all(torch.equal(value, stored[name]) for name, value in trained.model.state_dict().items())
    assert trained.parameters == sum(p.numel() for p in trained.model.parameters())


def test_zero_filled_needs_no_folder():
    trained = open_model("zero_filled")
    assert (trained.parameters, trained.weights, trained.protocol, trained.epochs) == (0, "", None, 0.0)
    assert trained.data("x") is None


def test_a_name_that_has_weights_to_learn_is_refused():
    with pytest.raises(InputError, match="give the folder of a checkpoint"):
        open_model("so_mamba")


def test_what_is_neither_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither a checkpoint folder"):
        open_model(str(tmp_path))


@pytest.mark.parametrize(
    ("recipe", "complaint"),
    [
        ({"network": {}}, "does not say which model"),
        (CONFIG["recipe"] | {"network": {"grups": 1}}, "grups"),
        (CONFIG["recipe"] | {"network": {"groups": 2, "units": 1}}, "does not fit the model"),
    ],
)
def test_a_folder_with_another_recipe_is_refused(folder, tmp_path, recipe, complaint):
    save_checkpoint(tmp_path / "x", Checkpoint(read_checkpoint(folder).weights, CONFIG | {"recipe": recipe}))
    with pytest.raises((InputError, ConfigError), match=complaint):
        open_model(str(tmp_path / "x"))


def test_a_training_of_unknown_length_has_no_number_of_epochs(folder, tmp_path):
    config = {"recipe": CONFIG["recipe"]}
    save_checkpoint(tmp_path / "x", Checkpoint(read_checkpoint(folder).weights, config))
    trained = open_model(str(tmp_path / "x"))
    with pytest.raises(InputError, match="step and steps_per_epoch"):
        _ = trained.epochs


def test_epochs_before_a_start_from_other_weights_count(folder, tmp_path):
    weights = read_checkpoint(folder).weights
    for before, wanted in ((8.5, 10.0), (None, 1.5)):
        config = CONFIG | {"started_from": {"name": "x", "epochs": before}}
        save_checkpoint(tmp_path / "x", Checkpoint(weights, config))
        assert open_model(str(tmp_path / "x")).epochs == wanted
    for wrong in ("many", -1, True, float("nan"), [1]):
        save_checkpoint(tmp_path / "x", Checkpoint(weights, CONFIG | {"started_from": {"epochs": wrong}}))
        with pytest.raises(InputError, match=r"started_from\.epochs must be"):
            open_model(str(tmp_path / "x"))


def test_sizes_are_compared_before_the_weights_are_read(folder, tmp_path):
    weights = {**read_checkpoint(folder).weights, "extra": torch.zeros(3)}
    save_checkpoint(tmp_path / "x", Checkpoint(weights, CONFIG))
    # Bytes that do not agree with their SHA-256 would be refused if they were read.
    with (tmp_path / "x" / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(InputError, match="does not fit the model: extra is missing, not part of it"):
        open_model(str(tmp_path / "x"))


def test_every_checkpoint_in_the_folder_has_its_name(tmp_path):
    save_tiny(tmp_path / "brain_raw")
    (tmp_path / "notes").mkdir()
    assert bundled_weights(tmp_path) == {"brain_raw": tmp_path / "brain_raw"}
    assert open_weights("brain_raw", tmp_path).protocol == "raw"


def test_the_default_says_that_it_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"No weights called 'brain_raw' are bundled.*zero_filled"):
        open_weights(folder=tmp_path / "missing")
    assert DEFAULT == "brain_raw"


def test_a_folder_and_a_model_without_weights_are_opened_too(tmp_path):
    assert open_weights(str(save_tiny(tmp_path / "x")), tmp_path).name == "so_mamba"
    assert open_weights("zero_filled", tmp_path).parameters == 0


def test_what_is_not_there_is_refused_with_what_is(tmp_path):
    save_tiny(tmp_path / "knee")
    with pytest.raises(InputError, match=r"neither a checkpoint folder.*Bundled weights: knee\."):
        open_weights("brian_raw", tmp_path)
    with pytest.raises(InputError, match="Did you mean 'knee'"):
        open_weights("kne", tmp_path)
    with pytest.raises(InputError, match="Did you mean 'zero_filled'"):
        open_weights("zero_fill", tmp_path)


def test_a_flipped_byte_is_noticed(tmp_path):
    file = save_tiny(tmp_path / "knee") / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged: SHA-256 of model\.safetensors differs"):
        open_weights("knee", tmp_path)


def test_the_bundled_weights_are_small_sound_and_described():
    folder = bundled_weights()[DEFAULT]
    trained = open_weights()
    assert (trained.name, trained.protocol, trained.coils) == ("so_mamba", "raw", 1)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 12e6
    card = (folder / "README.md").read_text()
    assert all(word in card for word in ("data", "protocol", "Limits", "Licence", trained.weights))


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "README.md"])
def test_a_flipped_byte_in_the_bundled_weights_is_noticed(tmp_path, name):
    copy = shutil.copytree(bundled_weights()[DEFAULT], tmp_path / DEFAULT)
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(name)):
        open_weights(DEFAULT, tmp_path)


RELEASES = [*bundled_weights().values(), *(path.parent for path in sorted(PROJECT.glob("weights/*/SHA256SUMS")))]


@pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)
def test_released_weights_name_their_card_among_their_digests(folder):
    """After a change of the card, `somamba.inference.weights.checkpoint.seal` names its new digest."""
    named = named_in_sums((folder / "SHA256SUMS").read_bytes())
    pictures = {path.name for path in folder.glob("*.png")}
    assert named.keys() == {path.name for path in folder.iterdir()} - pictures - {"SHA256SUMS"}
    assert named == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in named}


def test_an_earlier_edition_is_opened_by_its_number_and_a_missing_one_is_refused():
    first = open_weights("brain_raw@1")
    assert first.weights == open_model(str(FOLDER.parents[2] / "weights" / "brain_raw_1")).weights
    assert first.weights != open_weights("brain_raw").weights
    assert first.source == "brain_raw@1"
    assert weights_folder("brain_raw@1").name == "brain_raw_1"
    with pytest.raises(InputError, match=r"no edition 9 of 'brain_raw' here.*weights/brain_raw_9"):
        open_weights("brain_raw@9")
    with pytest.raises(InputError, match="neither a checkpoint folder"):
        open_weights("knee@1")
