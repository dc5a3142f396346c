"""A reconstruction that no file could hold cannot be made."""

from dataclasses import replace

import numpy as np
import pytest

from inference.writers.made import made
from somamba.errors import InputError
from somamba.inference.reconstruction import Reconstruction


def test_magnitudes_forget_the_phase_and_stay_single():
    made_up = made()
    assert made_up.magnitudes.dtype == np.float32
    np.testing.assert_array_equal(made_up.magnitudes, np.abs(made_up.images))


def test_slices_are_divided_into_volumes():
    assert made(slices=6, volumes=3).stack == 2
    with pytest.raises(InputError, match="6 slices cannot be divided into 4 volumes"):
        made(slices=6, volumes=4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, complex(0, np.nan)])
def test_a_value_that_is_not_finite_is_named_with_its_slice(bad):
    images = made().images.copy()
    images[2, 3, 3] = bad
    with pytest.raises(InputError, match=r"slice 2 holds NaN or infinity \(1 of 3 slices do\)"):
        replace(made(), images=images)


@pytest.mark.parametrize("shape", [(6, 8), (0, 6, 8), (1, 1, 6, 8)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InputError, match=r"must be \(slices, rows, columns\) complex64"):
        replace(made(), images=np.zeros(shape, dtype=np.complex64))


@pytest.mark.parametrize("voxel", [(0.0, 1.0, 1.0), (1.0, np.nan, 1.0), (1.0, 1.0, np.inf)])
def test_a_voxel_without_a_size_is_refused(voxel):
    with pytest.raises(InputError, match="size above 0 mm"):
        made(voxel=voxel)


@pytest.mark.parametrize("affine", [np.eye(3), np.full((4, 4), np.nan), np.diag([1.0, 0, 1, 1])])
def test_an_affine_that_spans_no_space_is_refused(affine):
    with pytest.raises(InputError, match="4 x 4 matrix of full rank"):
        made(affine=affine)


@pytest.mark.parametrize("value", [np.float32(1), float("nan"), {1, 2}])
def test_a_provenance_that_json_cannot_hold_is_refused(value):
    images = np.ones((1, 2, 2), dtype=np.complex64)
    with pytest.raises(InputError, match="JSON cannot hold"):
        Reconstruction(name="x", images=images, provenance={"deep": [value]})
