"""Every gate is a field of colour in a range that all networks share."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.figures.words import words_of
from somamba.report.figures.gates import gates_figure

pytest.importorskip("matplotlib")


def gates(method="residency_channel", offsets=None, scale=1.0):
    values = np.array([[0.0, -0.5, 0.25], [0.1, 0.2, 0.3]], dtype=np.float32) * scale
    units = ((1, 1), (2, 1))
    return SimpleNamespace(method=method, seed=1, epochs=4.0, units=units, values=values, offsets=offsets)


def test_colours_are_the_gates_in_one_range_about_zero():
    figure = gates_figure([gates(), gates(scale=2.0)])
    first, second = (axes.images[0] for axes in figure.axes[:2])
    np.testing.assert_array_equal(first.get_array(), gates().values)
    assert first.get_clim() == second.get_clim() == (-1.0, 1.0)


def test_units_and_their_means_are_named():
    words = words_of(gates_figure([gates()]))
    for text in ("learned residency, by channel, seed 1, 4 epochs", "1.1 mean -0.083", "2.1 mean +0.200", "channel"):
        assert text in words
    assert "by token" not in words


def test_the_constant_of_gates_by_token_is_shown():
    words = words_of(gates_figure([gates("residency_token", np.array([0.5, -0.125], dtype=np.float32))]))
    for text in ("1.1 b = +0.500", "2.1 b = -0.125", "g = w"):
        assert text in words


def test_closed_gates_can_be_drawn():
    assert gates_figure([gates(scale=0.0)]).axes[0].images[0].get_clim() == (-1.0, 1.0)
