"""A checkpoint comes back as it was, or not at all."""

import hashlib
import os
import random
import shutil
import subprocess

import pytest
import torch
from torch import nn

from somamba.errors import InputError, StorageError
from somamba.inference.weights.checkpoint import (
    Checkpoint,
    TrainingState,
    has_checkpoint,
    load_weights,
    read_checkpoint,
    read_config,
    save_checkpoint,
    seal,
    weights_digest,
)

CONFIG = {"recipe": {"model": "so_mamba", "network": {"groups": 6}}, "protocol": "magnitude", "mask": {"digest": "ab"}}


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Linear(3, 2, bias=False))


@pytest.fixture
def saved(tmp_path):
    """A folder with a checkpoint, and the checkpoint."""
    state = TrainingState(
        {"exp_avg/0.weight": torch.randn(3, 2, 3, 3), "step/0.weight": torch.tensor(7.0)},
        {"step": 7, "loss_sum": 0.1 + 0.2, "best": None},
    )
    checkpoint = Checkpoint(network().state_dict(), CONFIG, state)
    save_checkpoint(tmp_path / "last", checkpoint)
    return tmp_path / "last", checkpoint


def assert_equal_tensors(found, wanted):
    assert found.keys() == wanted.keys()
    for name in wanted:
        assert found[name].dtype == wanted[name].dtype
        assert torch.equal(found[name], wanted[name])


def test_everything_comes_back_bit_for_bit(saved):
    folder, wanted = saved
    found = read_checkpoint(folder)
    assert_equal_tensors(found.weights, wanted.weights)
    assert_equal_tensors(found.training.tensors, wanted.training.tensors)
    assert found.training.values == wanted.training.values
    assert found.config == CONFIG


def test_the_config_is_read_without_the_weights_and_checked_all_the_same(saved):
    folder, _ = saved
    (folder / "model.safetensors").unlink()
    assert read_config(folder) == CONFIG
    content = (folder / "config.yaml").read_bytes()
    (folder / "config.yaml").write_bytes(content.replace(b"so_mamba", b"so_manba"))
    with pytest.raises(InputError, match=r"SHA-256 of config\.yaml differs"):
        read_config(folder)


def test_a_file_that_is_summed_twice_is_refused(saved):
    folder, _ = saved
    sums = (folder / "SHA256SUMS").read_bytes()
    (folder / "SHA256SUMS").write_bytes(sums + sums.splitlines(keepends=True)[0])
    with pytest.raises(InputError, match="damaged"):
        read_config(folder)


def test_sha256sum_agrees(saved):
    folder, _ = saved
    sha256sum = shutil.which("sha256sum")
    if sha256sum is None:
        pytest.skip("sha256sum is not installed")
    subprocess.run([sha256sum, "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)


def test_the_same_state_is_written_as_the_same_bytes(saved, tmp_path):
    folder, checkpoint = saved
    save_checkpoint(tmp_path / "again", checkpoint)
    assert (folder / "SHA256SUMS").read_bytes() == (tmp_path / "again" / "SHA256SUMS").read_bytes()


def test_every_flipped_byte_is_noticed(saved):
    folder, _ = saved
    draw = random.Random(0)
    places = [(path, i) for path in folder.iterdir() for i in range(path.stat().st_size)]
    sums = [place for place in places if place[0].name == "SHA256SUMS"]
    for path, place in [*sums, *draw.sample(places, 400)]:
        good = path.read_bytes()
        flipped = bytearray(good)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(InputError, match="damaged"):
            read_checkpoint(folder)
        path.write_bytes(good)
    read_checkpoint(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "training.json", "SHA256SUMS"])
def test_a_cut_or_absent_file_is_noticed(saved, name):
    folder, _ = saved
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(InputError, match="damaged"):
        read_checkpoint(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=r"damaged|not a checkpoint"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"\x80\x04\x95pickle"),
        ("config.yaml", b"a: [1"),
        ("config.yaml", b"- just\n- a list\n"),
        ("config.yaml", b"!!python/object/apply:os.system ['false']"),
        ("training.json", b"{"),
        ("training.safetensors", b"\xff" * 16),
    ],
)
def test_wrong_content_with_a_right_checksum_is_refused(saved, name, content):
    folder, _ = saved
    (folder / name).write_bytes(content)
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    sums = "".join(f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names)
    (folder / "SHA256SUMS").write_text(sums)
    with pytest.raises(InputError, match=r"not a checkpoint of somamba|table of settings|no safetensors file"):
        read_checkpoint(folder)


def test_a_folder_without_checkpoint_says_so(tmp_path):
    assert not has_checkpoint(tmp_path)
    with pytest.raises(InputError, match="no SHA256SUMS"):
        read_checkpoint(tmp_path)


def test_weights_reach_the_model(saved):
    folder, _ = saved
    model = network(seed=1)
    load_weights(model, read_checkpoint(folder).weights, source=str(folder))
    assert_equal_tensors(model.state_dict(), network().state_dict())


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda w: w.pop("0.bias"), "0.bias is missing"),
        (lambda w: w.update(extra=torch.zeros(1)), "extra is not part of the model"),
        (lambda w: w.update({"0.bias": torch.zeros(1)}), r"0.bias must be float32 \(3,\), it is float32 \(1,\)"),
        (lambda w: w.update({"0.bias": torch.zeros(3, dtype=torch.float64)}), r"it is float64 \(3,\)"),
    ],
)
def test_weights_that_do_not_fit_change_nothing(spoil, complaint):
    model, weights = network(seed=1), dict(network().state_dict())
    spoil(weights)
    with pytest.raises(InputError, match=complaint):
        load_weights(model, weights, source="x")
    assert_equal_tensors(model.state_dict(), network(seed=1).state_dict())


def test_weights_with_one_memory_under_two_names_are_kept(tmp_path):
    shared = torch.arange(3.0)
    save_checkpoint(tmp_path / "x", Checkpoint({"a": shared, "b": shared}, CONFIG))
    assert_equal_tensors(read_checkpoint(tmp_path / "x").weights, {"a": shared, "b": shared})


def test_the_digest_names_the_numbers():
    assert weights_digest(network().state_dict()) == weights_digest(network().state_dict())
    assert weights_digest(network().state_dict()) != weights_digest(network(seed=1).state_dict())
    assert weights_digest({}) == ""


@pytest.fixture
def released(tmp_path):
    """A checkpoint with a card and a journal that its sums name."""
    save_checkpoint(tmp_path / "x", Checkpoint({"w": torch.ones(2)}, {"a": 1}))
    (tmp_path / "x" / "README.md").write_text("A card.")
    (tmp_path / "x" / "journal.jsonl").write_text("{}")
    seal(tmp_path / "x")
    return tmp_path / "x"


@pytest.mark.parametrize("name", ["README.md", "journal.jsonl"])
def test_a_changed_card_or_journal_of_released_weights_is_noticed(released, name):
    assert read_checkpoint(released).config == {"a": 1}
    assert name in (released / "SHA256SUMS").read_text()
    (released / name).write_text("Something else.")
    with pytest.raises(InputError, match=f"SHA-256 of {name} differs"):
        read_checkpoint(released)
    seal(released)
    read_checkpoint(released)


def test_sealing_does_not_bless_damaged_weights(released):
    content = bytearray((released / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (released / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"SHA-256 of model\.safetensors differs"):
        seal(released)


@pytest.mark.parametrize("name", ["SHA256SUMS", "config.yaml", "model.safetensors"])
def test_a_pipe_in_a_checkpoint_is_not_waited_for(released, name):
    (released / name).unlink()
    os.mkfifo(released / name)
    with pytest.raises(InputError, match=r"named pipe|not a checkpoint"):
        read_checkpoint(released)


def resummed(folder, **files):
    """Exchange files of a checkpoint and name their new sums, as an attacker would."""
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


@pytest.mark.parametrize("content", [b"[1, 2]", b"7", b"[" * 100_000, b'{"a": ', b"\xff"])
def test_a_mistyped_training_record_is_refused(tmp_path, content):
    save_checkpoint(tmp_path / "x", Checkpoint({}, {"a": 1}, TrainingState({}, {"step": 1})))
    resummed(tmp_path / "x", training__json=content)
    with pytest.raises(InputError, match="not a checkpoint of somamba"):
        read_checkpoint(tmp_path / "x")


def test_a_config_that_is_a_bomb_is_refused(tmp_path):
    save_checkpoint(tmp_path / "x", Checkpoint({}, {"a": 1}))
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
    )
    resummed(tmp_path / "x", config__yaml=bomb.encode())
    with pytest.raises(InputError, match="more than 10,000 values"):
        read_checkpoint(tmp_path / "x")


def test_a_folder_with_other_files_is_not_replaced(saved):
    folder, checkpoint = saved
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(StorageError, match=r"holds 'thesis\.tex', so it is no checkpoint"):
        save_checkpoint(folder, checkpoint)
    assert (folder / "thesis.tex").read_text() == "years of work"
    (folder / "thesis.tex").unlink()
    save_checkpoint(folder, checkpoint)


def test_a_file_where_a_checkpoint_should_be_is_not_replaced(tmp_path):
    (tmp_path / "file").write_text("years of work")
    with pytest.raises(StorageError, match="cannot hold a checkpoint"):
        save_checkpoint(tmp_path / "file", Checkpoint({}, {}))
    assert (tmp_path / "file").read_text() == "years of work"


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"steps_per_epoch": "many"}, "steps_per_epoch must be a whole number of at least 1"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be a whole number of at least 1"),
        ({"step": -3}, "step must be"),
        ({"step": True}, "step must be"),
        ({"step": 2**80}, "step must be"),
        ({"recipe": [1]}, "recipe must be a table"),
        ({"recipe": {"seed": "x"}}, r"recipe\.seed must be"),
        ({"recipe": {"data": [1]}}, r"recipe\.data must be a table"),
        ({"recipe": {"network": 3}}, r"recipe\.network must be a table"),
        ({"recipe": {"model": ["unet"]}}, r"recipe\.model must be a text"),
        ({"protocol": 1}, "protocol must be a text"),
        ({"code": 1}, "code must be a table"),
        ({"validation": 31.2}, "validation must be a table"),
        ({"hardware": "cpu"}, "hardware must be a table"),
        ({"started_from": "x"}, "started_from must be a table"),
    ],
)
def test_an_entry_of_another_kind_is_refused_by_every_reader(tmp_path, entries, complaint):
    save_checkpoint(tmp_path / "x", Checkpoint({"a": torch.zeros(1)}, entries))
    for read in (read_config, read_checkpoint):
        with pytest.raises(InputError, match=complaint):
            read(tmp_path / "x")


@pytest.mark.parametrize("name", ["model.safetensors", "training.safetensors", "config.yaml", "training.json"])
def test_a_file_that_is_longer_than_it_can_be_is_not_read(saved, name):
    folder, _ = saved
    os.truncate(folder / name, 1 << 40)  # a hole: it takes no disk, but nobody has the memory to read it
    with pytest.raises(InputError, match="damaged"):
        read_checkpoint(folder)
