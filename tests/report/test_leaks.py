"""Leakage in a page: the numbers of Table 5, and every unit."""

from somamba.evaluation.leakage_rows import LeakageRow
from somamba.report.leaks import leakage_section


def leakage(method="so_mamba", hleak=0.2, rleak=0.1):
    """Two units on one case at one cutoff."""
    return [
        LeakageRow(
            method=method,
            dataset="acdc",
            split="val",
            protocol="magnitude",
            mask="golden-radial",
            acceleration=4.0,
            case="patient001",
            slices=2,
            unit=unit,
            units=2,
            cutoff=0.25,
            radius="corner",
            hleak=hleak * unit,
            rleak=rleak * unit,
            eta=rleak / hleak,
            cases=1,
            split_cases=20,
            epochs=3.0,
            seed=0,
            parameters=10,
            weights="ab",
            command="somamba leakage",
        )
        for unit in (1, 2)
    ]


def test_the_table_has_the_means_and_their_ratio():
    html = leakage_section(leakage())
    assert "0.3000" in html
    assert "0.1500" in html
    assert ">0.500<" in html
    assert "SO-Mamba, HLeak" in html


def test_every_method_has_a_line_for_the_state_and_one_for_the_read_out():
    html = leakage_section([*leakage(), *leakage("<i>")])
    assert html.count("<polyline") == 4
    assert "<i>" not in html
