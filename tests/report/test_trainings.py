"""Runs of a sweep, in a page and in Markdown: in the paper's order, with the budget, never two kinds of data in one."""

import pytest

from report.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.report.trainings import trainings_section, trainings_table


def test_markdown_has_a_line_for_each_run_in_the_papers_order():
    text = trainings_table([sweep_row("so_mamba"), sweep_row("unet", steps=1424), sweep_row("a|b", minutes=0.0)])
    lines = text.splitlines()
    assert lines[2] == "| UNet | 0 | 15 min | 1,424 | 1.35 | 0.81 | 342,162 | 31.02 | 0.884 |"
    assert lines[3].startswith("| SO-Mamba |")
    assert lines[4].startswith("| a\\|b | 0 | – |")
    assert "ACDC, val, 20 cases; protocol magnitude; golden-radial mask, nominal x4, realised x4.07" in text
    assert "steps of 2 slices" in text


def test_runs_on_different_data_share_no_table():
    with pytest.raises(InputError, match="different data or masks"):
        trainings_table([sweep_row("unet"), sweep_row("lmo", acceleration=8.0)])
    with pytest.raises(InputError, match="no runs"):
        trainings_table([])


def test_a_page_sorts_by_numbers_and_escapes_names():
    html = trainings_section([sweep_row("<i>"), sweep_row("so_mamba", minutes=0.0)])
    assert "&lt;i&gt;" in html
    assert 'data-value="606"' in html
    assert html.count("data-missing") == 1


def test_a_run_that_two_grids_share_is_listed_once():
    assert trainings_table([sweep_row("unet"), sweep_row("unet")]).count("| UNet |") == 1
    assert trainings_table([sweep_row("unet"), sweep_row("unet", weights="other")]).count("| UNet |") == 2
