"""Rows of a sweep survive their file; what cannot be is refused."""

import pytest

from results.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.results.sweep import read_sweep, write_sweep


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [sweep_row("so_mamba"), sweep_row("=unet", minutes=0.0)]
    write_sweep(tmp_path / "s.csv", rows)
    assert read_sweep(tmp_path / "s.csv") == rows
    assert [row.budget for row in rows] == ["15 min", ""]


def test_a_run_that_comes_twice_is_refused(tmp_path):
    write_sweep(tmp_path / "s.csv", [sweep_row("unet"), sweep_row("unet", seed=1)])
    with pytest.raises(InputError, match="run 'unet' has more than one row"):
        read_sweep(tmp_path / "s.csv")


@pytest.mark.parametrize("changes", [{"psnr": float("nan")}, {"steps": -1}, {"run": "a\nb"}])
def test_what_cannot_be_is_refused(changes):
    with pytest.raises(InputError):
        sweep_row(**{"run": "unet"} | changes)
