"""Runs of a sweep in a page."""

from results.made_sweep import sweep_row
from somamba.report.sections.sweep import sweep_section


def test_a_page_sorts_by_numbers_and_escapes_names():
    html = sweep_section([sweep_row("<i>"), sweep_row("so_mamba", minutes=0.0)])
    assert "&lt;i&gt;" in html
    assert 'data-value="606"' in html
    assert html.count("data-missing") == 1
    assert sweep_section([]) is None
