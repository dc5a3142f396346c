"""Kept slices become cases of the viewer."""

import numpy as np
import pytest

from results.made_gallery import write_gallery
from somamba.report.sections.viewer import _cut, spread_slices, viewer_case
from somamba.results.gallery import read_gallery


def test_zero_filled_comes_before_the_methods_in_the_papers_order(tmp_path):
    found = write_gallery(tmp_path, labels=("so_mamba", "unet"))
    case = viewer_case(read_gallery(tmp_path)[0], most_slices=9)
    assert case.name == "patient001, ACDC ×4"
    assert [image.label for image in case.images] == ["Zero-Filling", "UNet", "SO-Mamba"]
    np.testing.assert_array_equal(case.reference, found["patient001"].target)
    assert case.images[2].psnr == [30.0, 31.0, 32.0]


def test_zero_filling_that_was_evaluated_is_not_shown_twice(tmp_path):
    write_gallery(tmp_path, labels=("zero_filled",))
    case = viewer_case(read_gallery(tmp_path)[0], most_slices=9)
    assert [image.label for image in case.images] == ["Zero-Filling"]


def test_of_many_slices_some_are_taken_with_their_scores_and_numbers(tmp_path):
    found = write_gallery(tmp_path, slices=5)
    case = viewer_case(read_gallery(tmp_path)[0], most_slices=3)
    assert list(case.slices) == [2, 4, 6]
    assert case.images[0].psnr == [20.0, 22.0, 24.0]
    np.testing.assert_array_equal(case.reference, found["patient001"].target[::2])


@pytest.mark.parametrize(("count", "most"), [(1, 1), (7, 3), (3, 7), (20, 20)])
def test_slices_are_spread_without_doubles(count, most):
    chosen = spread_slices(count, most)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(count, most)
    assert chosen[0] == 0


def test_magnitudes_are_cut_as_they_were_scored():
    pixels = np.array([0.5, -3.0, 4j, 0.0], dtype=np.complex64)
    np.testing.assert_allclose(_cut(pixels, 1.0), [0.5, -1.0, 1j, 0.0])
    np.testing.assert_array_equal(_cut(pixels, np.inf), pixels)
    assert _cut(pixels.real, 1.0).dtype == np.float32
