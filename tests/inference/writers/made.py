"""A reconstruction that looks different from every side, and one with everything unknown."""

import nibabel
import numpy as np

from somamba.inference.reconstruction import Reconstruction

PROVENANCE = {"model": "so_mamba", "weights": "0123", "notes": ["Schädel", "<x>"], "acceleration": 4.0, "slices": 3}
# Columns run to the left, rows to the feet, slices to the front: a coronal stack, tilted by nothing, with gaps.
CORONAL = np.array([[-1.5, 0, 0, 20.0], [0, 0, 6.0, -7.0], [0, -2.0, 0, 11.0], [0, 0, 0, 1]])


def made(*, slices=3, volumes=1, voxel=(5.0, 2.0, 1.5), affine=CORONAL, scale=1e-4, name="scan", seed=0):
    """Noise with a phase; the brightest pixel of the first slice is in row 1, column 4."""
    generator = np.random.default_rng(seed)
    values = generator.random((slices, 6, 8)) * np.exp(2j * np.pi * generator.random((slices, 6, 8)))
    values[0, 1, 4] = 2.5
    return Reconstruction(
        name=name,
        images=(scale * values).astype(np.complex64),
        volumes=volumes,
        voxel=voxel,
        affine=affine,
        provenance=PROVENANCE,
    )


def tilted_affine():
    """An oblique stack of voxels 5 (slices), 2 (rows) and 1.5 (columns) mm."""
    turn = nibabel.eulerangles.euler2mat(0.3, -0.4, 0.5)
    affine = np.eye(4)
    affine[:3, :3] = turn * [1.5, 2.0, 5.0]
    affine[:3, 3] = (-30.0, 12.0, 7.5)
    return affine
