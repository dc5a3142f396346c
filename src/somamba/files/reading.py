"""Reads files we did not write. A separate process opens them (`somamba.files.sandbox`).

A damaged or hostile file costs that process at most; here it is a `DataError` with the name of the file.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.contents import ArrayInfo, FileInfo
from somamba.files.sandbox import sandbox


def inspect(path: Path) -> FileInfo:
    """Read the table of contents of an HDF5, NIfTI, NumPy or BART file."""
    header, _ = sandbox().ask({"do": "inspect", "path": str(path.absolute())})
    arrays = {
        name: ArrayInfo(tuple(array["shape"]), np.dtype(array["dtype"])) for name, array in header["arrays"].items()
    }
    voxel = tuple(header["voxel"]) if "voxel" in header else None
    affine = tuple(tuple(row) for row in header["affine"]) if "affine" in header else None
    return FileInfo(path, arrays, header.get("texts", {}), header.get("refused", {}), voxel, affine)


def read(path: Path, name: str, start: int, stop: int) -> NDArray[Any]:
    """Read rows of one array; they are finite.

    Args:
        path: The file.
        name: The array in it, as `inspect` names it.
        start: The first row.
        stop: The row after the last one.
    """
    request = {"do": "read", "path": str(path.absolute()), "name": name, "start": int(start), "stop": int(stop)}
    _, array = sandbox().ask(request)
    if array is None:
        raise DataError(f"{path}: the reading process sent no values for {name!r}.")
    if not np.isfinite(array).all():
        raise DataError(f"{path}: {name!r} holds NaN or infinity between rows {start} and {stop}.")
    return array
