"""HDF5 as fastMRI wants submissions, so that its evaluation reads them as they are.

    reconstruction          (slices, rows, columns) float32 magnitudes
    reconstruction_complex  the same with their phase, complex64
    provenance              how it came about, JSON

Attributes: ``volumes``, and if they are known ``voxel_mm`` (slices, rows, columns) and ``affine`` as in NIfTI.
"""

import io
from pathlib import Path

import h5py

from somamba.durable import replace_file
from somamba.files.reading import inspect
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.stamp import StoredResult, foreign, seal, stamp, stored_pixels, stored_result


def write_hdf5(reconstruction: Reconstruction, path: Path) -> None:
    """Write the pictures as HDF5."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["reconstruction"] = reconstruction.magnitudes
        file["reconstruction_complex"] = reconstruction.images
        # Not an attribute: those end at 64 KiB.
        file["provenance"] = stamp(reconstruction, (reconstruction.images, reconstruction.magnitudes))
        file.attrs["volumes"] = reconstruction.volumes
        if reconstruction.voxel is not None:
            file.attrs["voxel_mm"] = reconstruction.voxel
        if reconstruction.affine is not None:
            file.attrs["affine"] = reconstruction.affine
    replace_file(path, seal(buffer.getvalue()), shared=True)


def hdf5_result(path: Path) -> StoredResult:
    """What a file that is there says about itself."""
    contents = inspect(path)
    if "provenance" not in contents.texts or "reconstruction" not in contents.arrays:
        raise foreign(path)
    names = ("reconstruction_complex", "reconstruction")
    return stored_result(
        contents.texts["provenance"],
        path,
        lambda: (block for name in names for block in stored_pixels(path, name, contents)),
    )
