"""Sizes and place of the pictures, from a voxel size and an affine that may be missing or contradict each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from somamba.inference.reconstruction import Reconstruction

AGREEMENT = 1e-3


class Placement(NamedTuple):
    """What a writer may rely on."""

    spacing: tuple[float, float, float] | None
    """From slice to slice, row to row and column to column, in mm; the first one includes gaps if they are known."""
    affine: NDArray[np.float64] | None
    """The affine, if its sizes are those of the voxels and its axes are perpendicular: some files, ACDC's among them,
    have an affine that was never filled in beside the true size of their voxels."""


def placement(reconstruction: Reconstruction) -> Placement:
    """Sort out what is known of a reconstruction."""
    voxel, affine = reconstruction.voxel, reconstruction.affine
    if affine is None:
        return Placement(voxel, None)
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    # Between slices there may be gaps, so only sizes within the slice can contradict each other.
    if voxel is not None and not np.allclose(sizes[:2], voxel[:0:-1], rtol=AGREEMENT):
        return Placement(voxel, None)
    directions = affine[:3, :3] / sizes
    square = np.allclose(directions.T @ directions, np.eye(3), atol=AGREEMENT)
    return Placement((float(sizes[2]), float(sizes[1]), float(sizes[0])), affine if square else None)
