"""Rows of costs survive their file, and numbers that cannot be are refused."""

from dataclasses import replace

import pytest

from results.made_costs import cost_row
from somamba.errors import InputError
from somamba.results.cost import CostRecord
from somamba.results.record import read_records, write_records


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [cost_row("so_mamba"), cost_row("=unet", seconds=1.5, megabytes=12.25)]
    write_records(tmp_path / "c.csv", rows)
    assert read_records(CostRecord, tmp_path / "c.csv") == rows


@pytest.mark.parametrize("changes", [{"seconds": -1.0}, {"megabytes": float("nan")}, {"method": "a\nb"}])
def test_a_number_that_cannot_be_is_refused(changes):
    with pytest.raises(InputError):
        replace(cost_row("so_mamba"), **changes)
