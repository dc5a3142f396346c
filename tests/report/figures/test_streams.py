"""The two streams as pictures and spectra, with or without evidence."""

import numpy as np
import pytest

from report.figures.words import words_of
from results.made_streams import recorded
from somamba.errors import InputError
from somamba.report.figures.streams import spectra_figure, streams_figure

pytest.importorskip("matplotlib")


def test_both_streams_of_the_chosen_units_are_shown():
    made = recorded(units=4)
    figure = streams_figure(made, units=[1, 4])
    shown = [axes.images[0].get_array() for axes in figure.axes]
    assert len(shown) == 6
    for place, picture in ((0, made.target), (1, made.carrier[0]), (2, made.carrier[3]), (5, made.evidence[3])):
        np.testing.assert_array_equal(shown[place], picture)
    words = words_of(figure)
    for text in ("unit 1", "unit 4", "kept in the state", "kept out of it", "patient001, slice 7", "realised ×4.07"):
        assert text in words
    assert "unit 2" not in words


def test_six_units_are_shown_unless_told_otherwise():
    titles = [axes.get_title() for axes in streams_figure(recorded(units=12)).axes[1:7]]
    assert titles == [f"unit {unit}" for unit in (1, 3, 5, 8, 10, 12)]
    assert len(streams_figure(recorded(units=2)).axes) == 6


@pytest.mark.parametrize("unit", [0, 5])
def test_a_unit_that_is_not_there_is_refused(unit):
    with pytest.raises(InputError, match=f"no unit {unit}; the network has units 1 to 4"):
        streams_figure(recorded(units=4), units=[unit])


def test_every_unit_has_a_line_in_every_spectrum():
    made = recorded(units=4)
    figure = spectra_figure(made)
    for axes, power in zip(figure.axes, (made.carrier_power, made.evidence_power), strict=True):
        for line, values in zip(axes.lines, power, strict=False):
            np.testing.assert_array_equal(line.get_ydata(), values)
            np.testing.assert_array_equal(line.get_xdata(), made.radius)
    assert "r = 0.25 and 0.35" in words_of(figure)


def test_an_ablation_without_evidence_has_a_carrier_only():
    made = recorded(evidence=False)
    assert len(spectra_figure(made).axes) == 1
    assert "kept out of it" not in words_of(streams_figure(made))
