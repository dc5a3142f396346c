"""Directions and positions become the affine that NIfTI wants, or none."""

import numpy as np
import pytest

from somamba.raw.geometry import orientation, stack_affine

X, Y, Z = np.eye(3)


def affine(**changes):
    asked = {
        "directions": np.stack([X, Y, Z]),
        "positions": np.array([[0.0, 0, 0], [0, 0, 4], [0, 0, 8]]),
        "voxel": (3.0, 1.0, 2.0),
        "image_shape": (10, 7),
    }
    return stack_affine(**{**asked, **changes})


def test_the_centre_pixel_lies_at_the_position_of_its_slice():
    oblique = np.array([[0.6, 0.8, 0], [-0.8, 0.6, 0], Z])
    found = affine(directions=oblique, positions=np.array([[5.0, -6, 7]]))
    np.testing.assert_allclose(found @ [3, 5, 0, 1], [-5, 6, 7, 1])
    np.testing.assert_allclose(found @ [4, 5, 0, 1], [-5 - 1.2, 6 - 1.6, 7, 1])


def test_slices_step_by_their_positions_and_a_single_one_by_its_thickness():
    np.testing.assert_allclose(affine()[:3, 2], [0, 0, 4])
    np.testing.assert_allclose(affine(positions=np.zeros((1, 3)))[:3, 2], [0, 0, 3])


@pytest.mark.parametrize(
    "changes",
    [
        {"directions": np.stack([np.zeros(3), Y, Z])},
        {"directions": np.stack([Y, Y, Z])},
        {"positions": np.array([[0.0, 0, 0], [0, 0, 4], [0, 0, 20]])},
    ],
)
def test_missing_crooked_or_uneven_geometry_is_unknown(changes):
    assert affine(**changes) is None


def test_the_orientation_is_told_in_words():
    assert orientation(affine()) == "columns to left, rows to posterior, slices to superior"
