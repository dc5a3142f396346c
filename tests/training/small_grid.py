"""A grid of two small SO-Mambas on synthetic files: seconds, not minutes."""

import yaml

from somamba.training.sweep.grid import read_grid

NETWORK = {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}}
BASE = {
    "data": {"size": [16, 16]},
    "optimiser": {"warmup_epochs": 0.5},
    "epochs": 2,
    "batch_size": 4,
    "machine": {"device": "cpu"},
}
RUNS = [{"name": "full", "model": "so_mamba"}, {"name": "closed", "model": "without_access", "seed": 1}]


def write_grid(folder, *, runs=RUNS, network=NETWORK, **keys):
    """Write a base recipe and a grid; the path of the grid."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "base.yaml").write_text(yaml.safe_dump(BASE | {"network": network}))
    (folder / "grid.yaml").write_text(yaml.safe_dump({"base": "base.yaml", "runs": list(runs)} | keys))
    return folder / "grid.yaml"


def small_grid(folder, data, *overrides, **keys):
    """The same, read."""
    return read_grid(write_grid(folder, **keys), [f"--data.path={data.path}", f"--data.cache={data.cache}", *overrides])
