"""Costs in a page: what was counted, and gaps where nothing was measured."""

from somamba.evaluation.cost_rows import CostRow
from somamba.report.costs import costs_section


def cost(**changes):
    facts = {"method": "so_mamba", "height": 320, "width": 256, "parameters": 1811352, "commit": "unknown"}
    facts |= {"module_macs": 20_500_000_000, "all_macs": 10**10, "scan_macs": 10**9, "fft_macs": 10**7}
    facts |= {"seconds": 0.0, "megabytes": 0.0, "threads": 2, "processor": ""}
    return CostRow(**facts | changes)


def test_what_was_not_measured_is_a_gap_not_a_zero():
    html = costs_section([cost()])
    assert html.count("data-missing") == 2
    assert "only counted" in html
    for text in ("SO-Mamba", "320 × 256", "1,811,352", "20.50"):
        assert text in html


def test_time_and_memory_are_told_with_the_machine():
    html = costs_section([cost(seconds=1.25, megabytes=99.6, processor="<CPU>")])
    assert ">1.25<" in html
    assert ">100<" in html
    assert "&lt;CPU&gt;, 2 threads" in html
