"""Scripts under benchmarks/ reconstruct as users do, go on after what a scan does not allow, and name the weights."""

import csv
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from inference.checkpoints import save_tiny, tiny
from raw.made import coil_kspace, picture
from somamba.data.simulation.scanner import coil_maps
from somamba.inference import reconstruct
from somamba.inference.preparation import Preparation
from somamba.inference.weights.trained import open_weights
from somamba.models.refined import Refined
from somamba.physics.fourier import fft2c
from somamba.physics.masks import equispaced
from somamba.raw.formats.in_memory import raw_scan_of

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
METHODS = ("zero_filled", "sigpy SenseRecon", "so_mamba network", "so_mamba")


def test_adapted_weights_are_scored_behind_the_last_step_of_reconstruct(monkeypatch, tmp_path):
    """Behind adapted weights one set of lines chooses the strengths, and two sets behind others."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    script, sets = import_module("adapting"), []

    class Watched(Refined):
        def strengths(self, y, A):
            sets.append(self.config.sets)
            return super().strengths(y, A)

    monkeypatch.setattr(reconstruct, "Refined", Watched)
    maps = coil_maps(4, (32, 24), seed=1)
    mask = equispaced(24, 2, center_fraction=1 / 3).tensor()[0]
    kspace = mask * fft2c(maps * picture())
    sample = SimpleNamespace(kspace=kspace, mask=mask, maps=maps, target=picture()[None])
    trained = tiny(tmp_path)
    prepared = Preparation(raw_scan_of(kspace, axes=("coils", "y", "x"), centred=True), trained)
    kept = replace(trained, config={**trained.config, "adaptation": {"steps_done": 4}})
    assert all(script.scored(one, sample, prepared).psnr > 0 for one in (trained, kept))
    assert sets == [2, 1]


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
