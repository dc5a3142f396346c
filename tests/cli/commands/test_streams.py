"""``somamba streams`` from the outside."""

from dataclasses import replace

import pytest
import torch

from somamba.cli.main import main
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.models.zoo import MODELS
from somamba.results.streams import read_streams
from somamba.settings import to_plain


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 2}, slices=3)
    network = replace(MODELS["so_mamba"].config, groups=1, units=1)
    data = to_plain(DataConfig(acceleration=8.0, size=(16, 16)))
    config = {"recipe": {"model": "so_mamba", "network": to_plain(network), "data": data, "seed": 3}}
    torch.manual_seed(0)
    weights = MODELS["so_mamba"].build(network).state_dict()
    config |= {"protocol": "magnitude", "step": 10, "steps_per_epoch": 4}
    save_checkpoint(folder / "best", Checkpoint(weights, config))
    return folder


def run(folder, output, *more):
    where = ["--dataset", "acdc", "--data", str(folder / "acdc"), "--cache", str(folder / "cache"), "--device", "cpu"]
    return main(["streams", str(folder / "best"), *where, "--split", "val", "-o", str(output), *more])


def test_one_slice_is_recorded_with_how_to_do_it_again(folder, tmp_path, capsys):
    assert run(folder, tmp_path / "s.npz", "--case", "patient004", "--slice", "2") == 0
    facts = read_streams(tmp_path / "s.npz").facts
    assert (facts.case, facts.slice, facts.setting.acceleration) == ("patient004", 2, 8.0)
    assert facts.command.endswith("--acceleration 8 --case patient004 --slice 2")
    assert "patient004, slice 2: 1 unit," in capsys.readouterr().out


def test_the_middle_of_the_first_case_is_the_default(folder, tmp_path):
    assert run(folder, tmp_path / "s.npz") == 0
    facts = read_streams(tmp_path / "s.npz").facts
    assert (facts.case, facts.slice) == ("patient001", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--slice", "3"], "has no slice 3; it has 0 to 2"), (["--case", "patient04"], "Did you mean 'patient004'?")],
)
def test_what_is_not_there_is_refused(folder, tmp_path, capsys, words, message):
    assert run(folder, tmp_path / "s.npz", *words) == 2
    assert message in capsys.readouterr().err
