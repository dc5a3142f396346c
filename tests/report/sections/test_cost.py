"""Costs in a page: what was counted, and gaps where nothing was measured."""

from results.made_costs import cost_row
from somamba.report.sections.cost import cost_section


def test_what_was_not_measured_is_a_gap_not_a_zero():
    html = cost_section([cost_row("so_mamba", size=(320, 256), module_macs=20_500_000_000)])
    assert html.count("data-missing") == 2
    assert "only counted" in html
    for text in ("SO-Mamba", "320 × 256", "1,811,352", "20.50"):
        assert text in html


def test_time_and_memory_are_told_with_the_machine():
    html = cost_section([cost_row("so_mamba", seconds=1.25, megabytes=99.6, processor="<CPU>")])
    assert ">1.25<" in html
    assert ">100<" in html
    assert "&lt;CPU&gt;, 2 threads" in html
