"""Which sizes and positions a writer may rely on."""

import numpy as np

from inference.writers.made import CORONAL, made, tilted_affine
from somamba.inference.writers.placement import placement


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
