"""Scripts under benchmarks/ go on after what a scan does not allow, and their rows name the weights."""

import csv
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from inference.checkpoints import save_tiny
from raw.made import coil_kspace
from somamba.inference.weights.trained import open_weights

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
METHODS = ("zero_filled", "sigpy SenseRecon", "so_mamba network", "so_mamba")


@pytest.fixture
def real_scans(monkeypatch, capsys):
    """The script: from its arguments to the lines of its table."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = import_module("real_scans")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["real_scans.py", *map(str, arguments)])
        script.main()
        return capsys.readouterr().out.splitlines()[1:]

    return run


def save(path, kspace):
    np.save(path, kspace)
    return path


def test_a_method_that_a_scan_does_not_allow_is_a_line_and_the_others_go_on(real_scans, tmp_path):
    one, many = (save(tmp_path / f"coils{count}.npy", coil_kspace(count)) for count in (1, 4))
    masks = ("--acceleration", 2, "--calibration", 8, 24)
    lines = real_scans(one, many, *masks, "--methods", "sigpy SenseRecon", "cg_sense", "zero_filled")
    refused = [line for line in lines if "not possible" in line]
    assert len(lines) - len(refused) == 3 + 5, "two methods for one coil, three for four; tuned ones have two lines"
    assert "sigpy SenseRecon     not possible: sigpy's reconstructions want one set of coil maps." in refused[0]
    assert all("not possible: A centre of 24 of 24 columns" in line for line in refused[1:])
    assert all("at most 11 calibration columns" in line for line in refused[1:])
    assert [line.split()[0] for line in refused] == ["coils1", "coils1", "coils4"]


def test_a_network_reconstructs_an_object_that_folds_over_as_reconstruct_does(real_scans, sample, tmp_path):
    """Every other column of k-space is half the field of view."""
    folded = save(tmp_path / "folded.npy", sample[:, 40:184, ::2].numpy())
    weights, table = save_tiny(tmp_path / "tiny"), tmp_path / "rows.csv"
    masks = ("--acceleration", 2, "--calibration", 24)
    lines = real_scans(folded, *masks, "--weights", weights, "--methods", *METHODS, "--csv", table)
    assert ["not possible" in line for line in lines] == [False, True, False, False]
    with table.open(newline="", encoding="utf-8") as file:
        named = {row["method"]: row["weights"] for row in csv.DictReader(file)}
    digest = open_weights(str(weights)).weights
    assert named == {"zero_filled": "", "so_mamba network": digest, "so_mamba": digest}


def test_weights_for_magnitude_images_are_refused_and_the_other_methods_go_on(real_scans, tmp_path):
    scan, weights = save(tmp_path / "full.npy", coil_kspace(4)), save_tiny(tmp_path / "tiny", "magnitude")
    masks = ("--acceleration", 2, "--calibration", 8)
    lines = real_scans(scan, *masks, "--weights", weights, "--methods", *METHODS[::2], "so_mamba")
    assert ["not possible" in line for line in lines] == [False, True, True]
    assert "trained for protocol 'magnitude'" in lines[-1]


def test_weights_that_are_not_there_are_told_before_any_scan_is_read(real_scans, tmp_path, capsys):
    with pytest.raises(SystemExit):
        real_scans(tmp_path / "none.npy", "--weights", "brain_row")
    assert "Did you mean 'brain_raw'?" in capsys.readouterr().err
