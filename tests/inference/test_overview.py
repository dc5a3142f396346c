"""One grey picture of a stack of slices."""

import numpy as np

from somamba.inference.overview import MOST, overview


def test_white_is_the_percentile_and_black_is_zero():
    magnitudes = np.linspace(0, 1, 1000, dtype=np.float32).reshape(1, 20, 50)
    picture, shown, white = overview(magnitudes)
    assert shown == [0]
    assert white == np.percentile(magnitudes, 99.5)
    assert picture.min() == 0
    assert picture.max() == 255


def test_no_more_than_sixteen_slices_are_shown_the_first_and_the_last_among_them():
    _, shown, _ = overview(np.ones((40, 4, 5), dtype=np.float32))
    assert len(shown) == MOST
    assert (shown[0], shown[-1]) == (0, 39)


def test_a_stack_without_signal_is_black():
    picture, _, white = overview(np.zeros((2, 4, 5), dtype=np.float32))
    assert white == 0
    assert not picture.any()
