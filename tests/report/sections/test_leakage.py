"""Leakage in a page: the numbers of Table 5, and every unit."""

from results.made_leakage import leakage_rows
from somamba.report.colours import page_palette
from somamba.report.sections.leakage import leakage_section
from somamba.report.sources import Sources


def section(records):
    return leakage_section(records, page_palette(Sources(leakage=records)))


def test_the_table_has_the_means_and_their_ratio():
    html = section(leakage_rows(cases=("a",), cutoffs=(0.25,)))
    assert "0.1500" in html  # HLeak: 0.1 * (1 + 2 + 3) / 3 * 0.75
    assert "0.0150" in html
    assert ">0.100<" in html
    assert "SO-Mamba, HLeak" in html
    assert "the distance to the corner of the transform grid" in html
    assert ">1.5<" not in html  # there is no unit between the first and the second


def test_every_method_has_a_line_for_the_state_and_one_for_the_read_out_at_every_cutoff():
    html = section([*leakage_rows(), *leakage_rows("<i>")])
    assert html.count("<polyline") == 8
    assert "<i>" not in html


def test_measurements_of_the_same_weights_are_told_apart_and_all_are_drawn():
    html = section([*leakage_rows(cutoffs=(0.25,)), *leakage_rows(cutoffs=(0.25,), radius="side", scale=0.5)])
    assert html.count("<polyline") == 4
    assert "SO-Mamba, radius corner, HLeak" in html
    assert "SO-Mamba, radius side, HLeak" in html
    assert "acceleration" not in html  # it is the same for both
    assert "the distance to the corner or the side" in html
    assert "ρ = 1 at the" in html


def test_networks_beyond_the_fourteenth_have_hollow_dots():
    html = section([row for seed in range(15) for row in leakage_rows(cutoffs=(0.25,), seed=seed)])
    assert html.count(" hollow") == 2 * 3  # both levels of three units


def test_trainings_of_one_seed_have_one_colour_and_the_second_hollow_dots():
    longer = leakage_rows(cutoffs=(0.25,), epochs=9.0)
    html = section([*leakage_rows(cutoffs=(0.25,)), *longer])
    assert "series-2" not in html
    assert html.count(" hollow") == 2 * 3
