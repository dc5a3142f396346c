"""Leakage by unit: one line for each network, and only networks that can be compared."""

import pytest

from report.figures.words import words_of
from results.made_leakage import leakage_rows
from somamba.errors import InputError
from somamba.report.figures.leakage import leakage_figure

pytest.importorskip("matplotlib")


def test_a_line_goes_through_the_means_of_the_units():
    hleak, rleak, eta = leakage_figure(leakage_rows(cutoffs=(0.25,))).axes
    assert list(hleak.lines[0].get_ydata()) == pytest.approx([0.1125, 0.225, 0.3375])
    assert list(rleak.lines[0].get_ydata()) == pytest.approx([0.0075, 0.015, 0.0225])
    assert list(eta.lines[0].get_ydata()) == pytest.approx([1 / 15] * 3)
    assert list(hleak.lines[0].get_xdata()) == [1, 2, 3]


def test_every_cutoff_has_a_row_and_every_network_a_line():
    figure = leakage_figure([*leakage_rows(), *leakage_rows("without_outlet", scale=0.5)])
    assert len(figure.axes) == 6
    words = words_of(figure)
    for text in ("SO-Mamba", "w/o output outlet", "r = 0.25", "r = 0.35", "mean over 2 cases", "corner", "ACDC val"):
        assert text in words


def test_a_network_that_comes_twice_is_told_apart():
    words = words_of(leakage_figure([*leakage_rows(seed=1, weights="cd" * 8), *leakage_rows()]))
    assert words.index("SO-Mamba, seed 0") < words.index("SO-Mamba, seed 1")
    words = words_of(leakage_figure([*leakage_rows(), *leakage_rows(weights="cd" * 8)]))
    assert "SO-Mamba, weights cdcdcdcd" in words


def test_different_measurements_are_refused():
    with pytest.raises(InputError, match="differ in acceleration"):
        leakage_figure([*leakage_rows(), *leakage_rows("without_outlet", acceleration=8.0)])


def test_networks_beyond_the_eighth_do_not_look_like_the_first():
    rows = [row for seed in range(10) for row in leakage_rows(seed=seed, weights=str(seed))]
    lines = leakage_figure(rows).axes[0].lines
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(lines) == 10
