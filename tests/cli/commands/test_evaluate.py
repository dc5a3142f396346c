"""``somamba evaluate`` from the outside."""

import json
from dataclasses import replace

import pytest
import torch

from somamba.cli.main import run_command
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.errors import ConfigError, InputError
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.models.zoo import MODELS
from somamba.results.gallery import read_gallery
from somamba.results.record import flat, read_records
from somamba.results.scores import ScoreRecord
from somamba.settings import to_plain


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and an untrained SO-Mamba that says it was trained for protocol raw at eightfold acceleration."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 3}, slices=2)
    network = replace(MODELS["so_mamba"].config, groups=1, units=1)
    data = to_plain(DataConfig(acceleration=8.0, size=(16, 16)))
    for protocol in ("magnitude", "raw"):
        config = {"recipe": {"model": "so_mamba", "network": to_plain(network), "data": data, "seed": 3}}
        config |= {"protocol": protocol, "step": 10, "steps_per_epoch": 4}
        torch.manual_seed(0)
        weights = MODELS["so_mamba"].build(network).state_dict()
        save_checkpoint(folder / protocol, Checkpoint(weights, config))
    return folder


def arguments(folder, checkpoint, *more):
    where = ["--dataset", "acdc", "--data", str(folder / "acdc"), "--cache", str(folder / "cache"), "--device", "cpu"]
    return [checkpoint, *where, *more]


def test_zero_filled_is_measured_by_name(folder, tmp_path, capsys):
    run_command("evaluate", arguments(folder, "zero_filled", "--split", "val", "--csv", str(tmp_path / "x.csv")))
    text = capsys.readouterr().out
    assert "2 cases, 4 slices" in text
    assert "PSNR" in text
    rows = read_records(ScoreRecord, tmp_path / "x.csv")
    assert [row.case for row in rows] == ["patient001", "patient004"]
    assert {(row.setting.split, *flat(row.subject).values()) for row in rows} == {("val", "zero_filled", 0.0, 0, 0, "")}


def test_a_checkpoint_is_measured_as_it_was_trained(folder, tmp_path, capsys):
    run_command("evaluate", arguments(folder, str(folder / "magnitude"), "--csv", str(tmp_path / "x.csv")))
    assert "x8" in capsys.readouterr().out
    row = read_records(ScoreRecord, tmp_path / "x.csv")[0]
    assert (row.subject.method, row.setting.acceleration, row.subject.seed, row.subject.epochs) == (
        "so_mamba",
        8.0,
        3,
        2.5,
    )
    assert len(row.subject.weights) == 16
    assert row.command == (
        "somamba evaluate " + "/".join((folder / "magnitude").parts[-2:]) + " --dataset acdc --data $DATA "
        "--split test --protocol magnitude --acceleration 8"
    )


def test_limited_cases_are_counted_against_the_split(folder, tmp_path):
    run_command("evaluate", arguments(folder, "zero_filled", "--limit-cases", "2", "--csv", str(tmp_path / "x.csv")))
    row = read_records(ScoreRecord, tmp_path / "x.csv")[0]
    assert (row.cases, row.split_cases) == (2, 3)
    assert row.command.endswith("--limit-cases 2")


def test_batches_change_nothing_but_speed(folder, tmp_path):
    found = []
    for size in ("1", "2"):
        run_command(
            "evaluate",
            arguments(folder, str(folder / "magnitude"), "--batch-size", size, "--csv", str(tmp_path / "x.csv")),
        )
        found.append([row.psnr for row in read_records(ScoreRecord, tmp_path / "x.csv")])
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_another_protocol_than_that_of_training_needs_force(folder, capsys):
    with pytest.raises(ConfigError, match=r"trained for protocol 'raw'.*--force"):
        run_command("evaluate", arguments(folder, str(folder / "raw"), "--protocol", "magnitude"))
    run_command("evaluate", arguments(folder, str(folder / "raw"), "--protocol", "magnitude", "--force"))
    assert "protocol magnitude" in capsys.readouterr().out


def test_what_is_no_checkpoint_is_refused(folder):
    with pytest.raises(InputError, match="neither a checkpoint"):
        run_command("evaluate", arguments(folder, "nothing"))


def test_images_are_kept_with_what_made_them(folder, tmp_path):
    keep = ["--keep", str(tmp_path), "--keep-cases", "1", "--label", "ours"]
    run_command("evaluate", arguments(folder, str(folder / "magnitude"), "--limit-cases", "2", *keep))
    (case,) = read_gallery(tmp_path)
    facts = case.methods[0].facts
    assert (facts.label, facts.subject.method, facts.steps) == ("ours", "so_mamba", 10)
    assert (facts.subject.epochs, facts.subject.seed) == (2.5, 3)
    assert facts.recipe["data"]["acceleration"] == 8
    assert facts.command.startswith("somamba evaluate ")
    assert case.facts.setting.acceleration == 8


def test_a_model_of_many_accelerations_is_measured_at_one_that_is_named(folder):
    augmentation = Augmentation(acceleration=(2, 3), calibration=(4, 4), coils=(2, 2))
    data = DataConfig(
        dataset="acdc", protocol="raw", mask="random", combine="sense", size=(32, 32), augmentation=augmentation
    )
    network = replace(MODELS["so_mamba"].config, groups=1, units=1)
    recipe = {"model": "so_mamba", "network": to_plain(network), "data": to_plain(data), "seed": 3}
    config = {"recipe": recipe, "protocol": "raw", "step": 1, "steps_per_epoch": 1}
    save_checkpoint(folder / "varied", Checkpoint(MODELS["so_mamba"].build(network).state_dict(), config))
    with pytest.raises(ConfigError, match=r"from 2 to 3: say at which.*--acceleration 4"):
        run_command("evaluate", arguments(folder, str(folder / "varied")))
    run_command("evaluate", arguments(folder, str(folder / "varied"), "--acceleration", "2", "--limit-cases", "1"))


def test_json_holds_the_summary_and_every_case(folder, capsys):
    run_command("evaluate", arguments(folder, "zero_filled", "--split", "val", "--json"))
    found = json.loads(capsys.readouterr().out)
    assert found["summary"]["psnr"]["mean"] > 0
    assert len(found["cases"]) == 2
