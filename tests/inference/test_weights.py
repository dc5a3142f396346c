"""Bundled weights are found by name; without any, it is said."""

import shutil

import pytest

from inference.checkpoints import save_tiny
from somamba.errors import InputError
from somamba.inference.weights import DEFAULT, bundled_weights, open_weights


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


def test_a_flipped_byte_in_the_bundled_weights_is_noticed(tmp_path):
    copy = shutil.copytree(bundled_weights()[DEFAULT], tmp_path / DEFAULT)
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.safetensors"):
        open_weights(DEFAULT, tmp_path)
