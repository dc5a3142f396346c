"""A folder in which every command works, with the files that commands read and other commands write."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml

from cli.working import DATA
from models.small import perturb, shrink
from raw.made import coil_kspace
from somamba.cli.main import main
from somamba.data.config import DataConfig
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS
from somamba.settings import to_plain
from training.tiny import write_data


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder in which every command of `WORKING` works."""
    folder = tmp_path_factory.mktemp("place")
    data = replace(write_data(folder), path="acdc", cache="cache")
    (folder / "folder").mkdir()
    (folder / "text.txt").write_text("text\n")
    (folder / "empty.csv").write_text("")
    np.save(folder / "scan.npy", coil_kspace(3, 32, 40))
    network = shrink(VARIANTS["so_mamba_adaptive"])
    config = {"recipe": {"model": "so_mamba_adaptive", "network": to_plain(network), "data": to_plain(data), "seed": 0}}
    torch.manual_seed(0)
    weights = perturb(MODELS["so_mamba_adaptive"].build(network)).state_dict()
    config |= {"protocol": "magnitude", "step": 10, "steps_per_epoch": 4}
    save_checkpoint(folder / "best", Checkpoint(weights, config))
    recipe = {
        "network": {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}},
        "data": to_plain(DataConfig(path="acdc", cache="cache", size=(16, 16))),
        "optimiser": {"warmup_epochs": 0.5},
        "epochs": 1,
        # One slice cannot be shared, so a dry run starts no further processes.
        "batch_size": 1,
        "machine": {"device": "cpu", "threads": 1},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    (folder / "any.yaml").write_text(yaml.safe_dump({"epochs": 7}))
    (folder / "grid.yaml").write_text(yaml.safe_dump({"base": "recipe.yaml", "runs": [{"name": "one"}]}))
    return folder


@pytest.fixture(scope="session")
def results(place):
    """The files that commands read and other commands write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["evaluate", "zero_filled", *DATA, "--csv", "scores.csv", "--keep", "gallery"]) == 0
        assert main(["evaluate", "cg_sense", *DATA, "--csv", "other.csv"]) == 0
        assert main(["leakage", "best", *DATA, "--csv", "leakage.csv"]) == 0
        assert main(["streams", "best", *DATA, "-o", "streams.npz"]) == 0
        assert main(["train", "recipe.yaml", "--output", "run"]) == 0


@pytest.fixture
def _inside(place, results, monkeypatch):  # noqa: ARG001
    monkeypatch.chdir(place)
