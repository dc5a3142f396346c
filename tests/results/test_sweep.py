"""Rows of a sweep survive their file; what cannot be is refused."""

import pytest

from results.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.results.record import read_records, write_records
from somamba.results.sweep import SweepRecord


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [sweep_row("so_mamba"), sweep_row("=unet", minutes=0.0)]
    write_records(tmp_path / "s.csv", rows)
    assert read_records(SweepRecord, tmp_path / "s.csv") == rows
    assert [row.budget for row in rows] == ["15 min", ""]


def test_a_run_that_comes_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="run 'unet' has more than one row"):
        write_records(tmp_path / "s.csv", [sweep_row("unet"), sweep_row("unet", seed=1)])
    write_records(tmp_path / "s.csv", [sweep_row("unet")])
    heading, line = (tmp_path / "s.csv").read_text().splitlines()
    (tmp_path / "s.csv").write_text("\n".join([heading, line, line, ""]))
    with pytest.raises(InputError, match=r"s\.csv: run 'unet' has more than one row"):
        read_records(SweepRecord, tmp_path / "s.csv")


@pytest.mark.parametrize("changes", [{"psnr": float("nan")}, {"steps": -1}, {"run": "a\nb"}])
def test_what_cannot_be_is_refused(changes):
    with pytest.raises(InputError):
        sweep_row(**{"run": "unet"} | changes)
