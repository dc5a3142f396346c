"""Slices are sorted by where they lie, whatever the order in which they were acquired."""

import numpy as np
import pytest

from somamba.raw.stack import slice_order

OBLIQUE = np.array([2.0, -1.0, 2.0]) / 3
ORIGIN = np.array([11.0, -7.0, 3.0])


def order(distances, normal=OBLIQUE):
    return slice_order(ORIGIN + np.outer(distances, OBLIQUE), normal)


@pytest.mark.parametrize(
    ("distances", "slices"),
    [
        ([0, 6, 12, 18], (0, 1, 2, 3)),
        ([18, 12, 6, 0], (3, 2, 1, 0)),
        ([0, 12, 24, 6, 18], (0, 3, 1, 4, 2)),
        ([-3.3, 3.3, 0], (0, 2, 1)),
        ([5], (0,)),
        ([0, 6, 18, 24], (0, 1, None, 2, 3)),
        ([24, 0, 18, 6], (1, 3, None, 2, 0)),
        ([0, 12, 6.01, 18.02], (0, 2, 1, 3)),
    ],
)
def test_slices_follow_each_other_along_the_normal(distances, slices):
    found = order(distances)
    assert found.slices == slices
    assert not found.doubt
    along = (found.positions - ORIGIN) @ OBLIQUE
    assert (np.diff(along) > 0).all()
    for place, number in enumerate(slices):
        if number is not None:
            assert along[place] == pytest.approx(distances[number], abs=1e-6)


def test_a_missing_slice_has_its_place_and_is_told():
    found = order([0, 6, 18, 24])
    np.testing.assert_allclose((found.positions - ORIGIN) @ OBLIQUE, [0, 6, 12, 18, 24])
    assert found.notes() == [
        "Slices 2 (counted from 0 by position) were not acquired; empty ones stand in their places."
    ]
    assert "acquired as 0, 3, 1" in order([0, 12, 18, 6]).notes()[0]
    assert order([0, 6, 12]).notes() == []


@pytest.mark.parametrize("distances", [[0, 6, 15], [0, 1, 60], [0, 6, 12, 12.9]])
def test_an_uneven_stack_is_sorted_and_told(distances):
    found = order(distances[::-1])
    assert found.slices == tuple(range(len(distances)))[::-1]
    assert found.notes()[-1] == "Slices are unevenly spaced, so where they lie is not written."


@pytest.mark.parametrize(
    ("distances", "normal", "doubt"),
    [
        ([3, 0, 0], OBLIQUE, "at one place"),
        ([0, 0, 0], OBLIQUE, "at one place"),
        ([6, 0, 3], np.zeros(3), "direction from slice to slice"),
    ],
)
def test_without_positions_or_a_normal_the_order_stays_and_it_is_told(distances, normal, doubt):
    found = order(distances, normal)
    assert found.slices == (0, 1, 2)
    assert doubt in found.notes()[-1]
