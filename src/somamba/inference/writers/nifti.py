"""NIfTI-1: magnitudes (x, y, z) or (x, y, z, volumes), float32; x counts columns, y counts rows.

The affine of the reconstruction is the sform, with code 2: aligned to another file, the input. It is the qform too
if a qform can hold it. Without an affine both codes are 0, which says that the orientation is unknown. If the size of
voxels is unknown, it is 1 without a unit. The
provenance is a header extension of code 6 (comment).
"""

import gzip
from pathlib import Path
from typing import Any

from nibabel.nifti1 import Nifti1Extension, Nifti1Image

from somamba.durable import replace_file
from somamba.files.reading import inspect
from somamba.inference.reconstruction import Reconstruction, placement
from somamba.inference.writers.stamp import RESEARCH, StoredResult, foreign, seal, stamp, stored_pixels, stored_result

ALIGNED, UNKNOWN = 2, 0
LEVEL = 6
"""The level of compression: a higher one costs time and gains little on floating-point numbers."""


def write_nifti(reconstruction: Reconstruction, path: Path) -> None:
    """Write one file, compressed if its name ends in ``.gz``."""
    volumes, stack = reconstruction.volumes, reconstruction.stack
    values = reconstruction.magnitudes.reshape(volumes, stack, *reconstruction.images.shape[1:]).T
    spacing, square = placement(reconstruction)
    image: Any = Nifti1Image(values if volumes > 1 else values[..., 0], reconstruction.affine)  # type: ignore[no-untyped-call]
    header = image.header
    if spacing is not None:
        header.set_zooms((*spacing[::-1], *((1.0,) if volumes > 1 else ())))
    if square is not None:
        header.set_qform(square, ALIGNED)
    header.set_sform(reconstruction.affine, UNKNOWN if reconstruction.affine is None else ALIGNED)
    # Without a size the header's default is 1; without a unit it is not taken for 1 mm.
    header.set_xyzt_units("unknown" if spacing is None else "mm")
    header["descrip"] = f"somamba. {RESEARCH}".encode()
    header.extensions.append(Nifti1Extension("comment", stamp(reconstruction, (reconstruction.magnitudes,)).encode()))
    content = seal(image.to_bytes())
    # Without a time stamp, so that equal pictures are equal files.
    replace_file(path, gzip.compress(content, LEVEL, mtime=0) if path.name.endswith(".gz") else content, shared=True)


def nifti_result(path: Path) -> StoredResult:
    """What a file that is there says about itself."""
    contents = inspect(path)
    if "provenance" not in contents.texts:
        raise foreign(path)
    return stored_result(contents.texts["provenance"], path, lambda: stored_pixels(path, "image", contents))
