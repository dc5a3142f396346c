"""Runs of a sweep: in the paper's order, with the budget, never two kinds of data in one."""

import pytest

from results.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.report.render.markdown import markdown
from somamba.report.tables.sweep import sweep_table


def test_markdown_has_a_line_for_each_run_in_the_papers_order():
    given = [sweep_row("so_mamba"), sweep_row("unet", steps=1424), sweep_row("a|b", minutes=0.0)]
    text = markdown(sweep_table(given))
    lines = text.splitlines()
    assert lines[2] == "| UNet | 0 | 15 min | 1,424 | 1.35 | 0.81 | 342,162 | 31.02 | 0.884 |"
    assert lines[3].startswith("| SO-Mamba |")
    assert lines[4].startswith("| a\\|b | 0 | – |")
    assert "ACDC, val, 20 cases; protocol magnitude; golden-radial mask, nominal x4, realised x4.07" in text
    assert "steps of 2 slices" in text


def test_runs_on_different_data_share_no_table():
    with pytest.raises(InputError, match="unet and lmo cannot be compared: they differ in acceleration"):
        sweep_table([sweep_row("unet"), sweep_row("lmo", acceleration=8.0)])
    with pytest.raises(InputError, match="no runs"):
        sweep_table([])


def test_a_run_that_two_grids_share_is_listed_once():
    assert len(sweep_table([sweep_row("unet"), sweep_row("unet")]).lines) == 1
    assert len(sweep_table([sweep_row("unet"), sweep_row("unet", weights="other")]).lines) == 2
