"""``somamba weights`` lists, verifies, prints cards, and makes folders that can be uploaded."""

import hashlib
import json
import shutil

import pytest
import yaml

from inference.checkpoints import save_tiny
from somamba.cli.main import main
from somamba.inference.weights.checkpoint import Checkpoint, TrainingState, read_checkpoint, save_checkpoint
from somamba.inference.weights.trained import FOLDER, open_weights

CARD = (FOLDER / "brain_raw" / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def cached(tmp_path):
    """Weights as if they had been fetched."""
    return save_tiny(tmp_path / "cache" / "somamba" / "hub" / "lab" / "knee" / "v1")


def test_the_list_names_bundled_and_fetched_weights(cached, capsys):
    assert main(["weights", "--json"]) == 0
    rows = {row["source"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["brain_raw", "hf:lab/knee@v1"]
    assert rows["brain_raw"]["licence"] == "apache-2.0"
    assert rows["brain_raw"]["size"] == (FOLDER / "brain_raw" / "model.safetensors").stat().st_size
    assert main(["weights"]) == 0
    table = capsys.readouterr().out
    assert all(word in table for word in ("brain_raw", "391,572", f"hf:lab/knee@{cached.name}"))


def test_verify_tries_all_and_names_the_damaged(cached, capsys):
    content = bytearray((cached / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (cached / "model.safetensors").write_bytes(content)
    assert main(["weights", "verify"]) == 2
    output = capsys.readouterr()
    assert f"brain_raw: sound (so_mamba, 391,572 parameters, weights {open_weights('brain_raw').weights})" in output.out
    assert "SHA-256 of model.safetensors differs" in output.err
    assert "1 of the weights cannot be used: hf:lab/knee@v1." in output.err


def test_the_card_is_printed_without_its_head(capsys):
    assert main(["weights", "show", "brain_raw"]) == 0
    assert capsys.readouterr().out == CARD.partition("---\n\n")[2]


def test_an_export_is_complete_and_opens(tmp_path, capsys):
    folder = tmp_path / "upload"
    assert main(["weights", "export", "brain_raw", str(folder)]) == 0
    names = {"README.md", "SHA256SUMS", "config.json", "config.yaml", "model.safetensors"}
    assert {path.name for path in folder.iterdir()} == names
    assert capsys.readouterr().out.count("wrote ") == len(names)
    lines = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == names - {"SHA256SUMS"}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in lines)
    assert json.loads((folder / "config.json").read_text()) == yaml.safe_load((folder / "config.yaml").read_text())
    assert open_weights(str(folder)).weights == open_weights("brain_raw").weights
    assert main(["weights", "verify", str(folder)]) == 0


def test_an_export_leaves_the_optimiser_and_takes_journal_and_pictures(tmp_path):
    run = save_tiny(tmp_path / "run")
    checkpoint = read_checkpoint(run)
    save_checkpoint(run, Checkpoint(checkpoint.weights, checkpoint.config, TrainingState({}, {"step": 1})))
    (run / "README.md").write_text(f"{CARD}\n![curve](curve.png)\n", encoding="utf-8")
    (run / "journal.jsonl").write_text("{}\n")
    assert main(["weights", "export", str(run), str(tmp_path / "upload")]) == 2, "the picture is not there"
    assert not (tmp_path / "upload").exists()
    (run / "curve.png").write_bytes(b"png")
    assert main(["weights", "export", str(run), str(tmp_path / "upload")]) == 0
    names = {path.name for path in (tmp_path / "upload").iterdir()}
    assert names >= {"curve.png", "journal.jsonl"}
    assert not any(name.startswith("training") for name in names)


def test_nothing_that_is_there_is_replaced_by_an_export(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("three years")
    assert main(["weights", "export", "brain_raw", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").read_text() == "three years"


def test_weights_without_a_card_are_not_exported(tmp_path, capsys):
    run = save_tiny(tmp_path / "run")
    assert main(["weights", "show", str(run)]) == 2
    assert main(["weights", "export", str(run), str(tmp_path / "upload")]) == 2
    assert "has no card" in (words := capsys.readouterr().err)
    assert "released with a card" in words
    assert not (tmp_path / "upload").exists()


def test_a_config_json_that_says_something_else_is_noticed(tmp_path, capsys):
    assert main(["weights", "export", "brain_raw", str(tmp_path / "upload")]) == 0
    copy = shutil.copytree(FOLDER / "brain_raw", tmp_path / "copy")
    (copy / "config.json").write_text('{"protocol": "magnitude"}')
    assert main(["weights", "verify", str(copy)]) == 2
    assert "does not say the same as config.yaml" in capsys.readouterr().err


def test_a_name_that_is_almost_right_is_proposed(capsys):
    assert main(["weights", "show", "brain_rew"]) == 2
    assert "Did you mean 'brain_raw'?" in capsys.readouterr().err
    assert main(["weights", "verfy"]) == 2
    assert "Did you mean 'verify'?" in capsys.readouterr().err
