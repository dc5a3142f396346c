"""A reconstruction that no file could hold cannot be made."""

from dataclasses import replace

import numpy as np
import pytest

from inference.writers.made import CORONAL, made, tilted_affine
from somamba.errors import InputError
from somamba.inference.reconstruction import Reconstruction, placement


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


def test_gaps_between_slices_are_part_of_the_spacing():
    spacing, affine = placement(made(voxel=(5.0, 2.0, 1.5), affine=CORONAL))
    assert spacing == (6.0, 2.0, 1.5)
    assert affine is CORONAL


def test_an_affine_that_contradicts_the_voxels_is_not_relied_on():
    spacing, affine = placement(made(voxel=(10.0, 1.4, 1.4), affine=np.diag([-1.0, -1, 1, 1])))
    assert spacing == (10.0, 1.4, 1.4)
    assert affine is None


def test_a_sheared_affine_gives_sizes_only():
    sheared = tilted_affine() @ np.array([[1, 0.2, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    spacing, affine = placement(made(voxel=None, affine=sheared))
    np.testing.assert_allclose(spacing, (5, np.hypot(2, 0.3), 1.5))
    assert affine is None


def test_without_an_affine_the_voxels_are_all_there_is():
    assert placement(made(affine=None)) == ((5.0, 2.0, 1.5), None)
    assert placement(made(voxel=None, affine=None)) == (None, None)
