"""The place of a stack of slices in the patient: directions and positions in ISMRMRD heads become a NIfTI affine."""

import numpy as np
from nibabel.orientations import aff2axcodes
from numpy.typing import NDArray

LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0])
"""ISMRMRD, like DICOM, counts to the left, posterior and superior; NIfTI to the right, anterior and superior."""
TOLERANCE = 1e-2
WORDS = {"R": "right", "L": "left", "A": "anterior", "P": "posterior", "S": "superior", "I": "inferior"}


def stack_affine(
    directions: NDArray[np.float64],
    positions: NDArray[np.float64],
    voxel: tuple[float, float, float],
    image_shape: tuple[int, int],
) -> NDArray[np.float64] | None:
    """The affine of a stack of parallel slices.

    Args:
        directions: Directions in which columns, rows and slices are counted, each a line of length 1.
        positions: Centre of every slice, (slices, 3) in mm.
        voxel: Size along (slices, y, x).
        image_shape: Rows and columns; pixel ``n // 2`` is the centre.

    Returns:
        The affine, or None if directions are missing or not perpendicular, or slices are not evenly spaced.
    """
    if not np.allclose(directions @ directions.T, np.eye(3), atol=TOLERANCE):
        return None
    steps = np.diff(positions, axis=0)
    along_x, along_y, through = directions
    step = through * voxel[0]
    if len(steps) and np.linalg.norm(steps[0]) > TOLERANCE:
        if not np.allclose(steps, steps[0], atol=TOLERANCE * np.linalg.norm(steps[0])):
            return None
        step = steps[0]
    columns = np.stack([along_x * voxel[2], along_y * voxel[1], step], axis=1)
    origin = positions[0] - columns[:, 0] * (image_shape[1] // 2) - columns[:, 1] * (image_shape[0] // 2)
    affine = np.eye(4)
    affine[:3, :3] = LPS_TO_RAS @ columns
    affine[:3, 3] = LPS_TO_RAS @ origin
    return affine


def orientation(affine: NDArray[np.float64]) -> str:
    """The directions of columns, rows and slices, in words."""
    codes = aff2axcodes(affine)  # type: ignore[no-untyped-call]
    directions = (
        f"{axis} to {WORDS[str(code)]}" for axis, code in zip(("columns", "rows", "slices"), codes, strict=True) if code
    )
    return ", ".join(directions)
