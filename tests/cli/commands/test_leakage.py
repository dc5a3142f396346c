"""``somamba leakage`` from the outside."""

from dataclasses import replace

import pytest
import torch

from models.small import perturb, shrink
from somamba.cli.main import run_command
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.errors import ConfigError, InputError
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS
from somamba.results.leakage import LeakageRecord, by_cutoff
from somamba.results.record import read_records
from somamba.settings import to_plain


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and small networks with weights that were never trained."""
    folder = tmp_path_factory.mktemp("leakage")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 3}, slices=2)
    data = to_plain(DataConfig(acceleration=8.0, size=(16, 16)))
    for name in ("so_mamba", "without_outlet", "tied_decay"):
        network = replace(shrink(VARIANTS[name]), units=2)
        config = {"recipe": {"model": name, "network": to_plain(network), "data": data, "seed": 3}}
        config |= {"protocol": "magnitude", "step": 10, "steps_per_epoch": 4}
        torch.manual_seed(0)
        weights = perturb(MODELS[name].build(network)).state_dict()
        save_checkpoint(folder / name, Checkpoint(weights, config))
    return folder


def run(folder, checkpoint, *more):
    where = ["--dataset", "acdc", "--data", str(folder / "acdc"), "--cache", str(folder / "cache"), "--device", "cpu"]
    run_command("leakage", [checkpoint, *where, *more])


@pytest.mark.parametrize("name", ["so_mamba", "without_outlet", "tied_decay"])
def test_a_checkpoint_is_measured_unit_by_unit(folder, tmp_path, capsys, name):
    path = tmp_path / "x.csv"
    run(folder, str(folder / name), "--split", "val", "--cutoff", "0.25", "0.35", "--csv", str(path))
    rows = read_records(LeakageRecord, path)
    assert len(rows) == 2 * 4 * 2
    assert {row.case for row in rows} == {"patient001", "patient004"}
    assert {(row.subject.method, row.setting.acceleration, row.subject.seed) for row in rows} == {(name, 8.0, 3)}
    assert {(row.slices, row.units) for row in rows} == {(2, 4)}
    assert rows[0].command == (
        "somamba leakage " + "/".join((folder / name).parts[-2:]) + " --dataset acdc --data $DATA --split val "
        "--protocol magnitude --acceleration 8 --cutoff 0.25 0.35 --radius corner"
    )
    text = capsys.readouterr().out
    assert "2 cases, 4 slices, 4 units" in text
    average = by_cutoff(rows)[0.35]
    assert f"r = 0.35   HLeak {average.hleak.mean:.4f}" in text
    assert f"eta {average.eta:.3f}" in text


def test_the_backend_of_the_states_changes_nothing(folder, tmp_path):
    found = []
    for backend in ("reference", "chunked", "auto"):
        path = tmp_path / f"{backend}.csv"
        run(folder, str(folder / "so_mamba"), "--limit-cases", "1", "--backend", backend, "--csv", str(path))
        found.append([value for row in read_records(LeakageRecord, path) for value in (row.hleak, row.rleak)])
    assert found[1] == pytest.approx(found[0], abs=1e-5)
    assert found[2] == pytest.approx(found[0], abs=1e-5)


def test_a_smaller_radius_leaves_more_outside(folder, tmp_path):
    found = {}
    for radius in ("corner", "side"):
        path = tmp_path / f"{radius}.csv"
        run(folder, str(folder / "so_mamba"), "--limit-cases", "1", "--radius", radius, "--csv", str(path))
        found[radius] = by_cutoff(read_records(LeakageRecord, path))[0.25]
    assert found["side"].hleak.mean > found["corner"].hleak.mean


def test_a_model_without_a_state_is_refused(folder):
    with pytest.raises(InputError, match="no SO-Mamba unit"):
        run(folder, "zero_filled")


def test_a_cutoff_outside_the_radius_is_refused(folder):
    with pytest.raises(ConfigError, match="'35' is not a number from 0 to 1"):
        run(folder, str(folder / "so_mamba"), "--cutoff", "35")
