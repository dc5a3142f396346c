"""NumPy: the complex pictures as they are, ``(slices, rows, columns)`` complex64, and a ``.json`` beside them.

Two files cannot be replaced in one step. The one beside the array holds the SHA-256 of its pixels, so a pair that does
not belong together counts as damaged; an array of another shape is not ours. It is written first: a kill between the
two leaves no array that would be taken for a foreign file. If there is no room for the array, the file beside it is
again what it was before.
"""

import io
import json
from pathlib import Path

import numpy as np

from somamba.durable import replace_file
from somamba.errors import DataError, StorageError
from somamba.files.reading import inspect
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.stamp import StoredResult, foreign, seal, stamp, stored_pixels, stored_result
from somamba.regular_files import read_regular

SHAPE = "shape"
LARGEST = 1 << 26
"""The most bytes of a file beside an array."""


def beside(path: Path) -> Path:
    """The file with the provenance of an array: ``scan.npy.json`` for ``scan.npy``."""
    return path.with_name(f"{path.name}.json")


def write_npy(reconstruction: Reconstruction, path: Path) -> None:
    """Write the provenance, then the array."""
    former = None
    if beside(path).exists():
        _check_ours(path)
        former = read_regular(beside(path), most=LARGEST)
    buffer = io.BytesIO()
    np.save(buffer, reconstruction.images, allow_pickle=False)
    affine = reconstruction.affine
    record = {
        **json.loads(stamp(reconstruction, (reconstruction.images,))),
        SHAPE: reconstruction.images.shape,
        "volumes": reconstruction.volumes,
        "voxel_mm": reconstruction.voxel,
        "affine": None if affine is None else affine.tolist(),
    }
    replace_file(beside(path), seal(json.dumps(record, indent=1, allow_nan=False).encode()), shared=True)
    try:
        replace_file(path, buffer.getvalue(), shared=True)
    except StorageError:
        if former is None:
            beside(path).unlink(missing_ok=True)
        else:
            replace_file(beside(path), former, shared=True)
        raise


def _check_ours(path: Path) -> None:
    """Refuse to replace a file beside an array that does not exist yet, if it is a foreign one."""
    try:
        stored_result(_text(path), beside(path), lambda: ())
    except (DataError, OSError) as error:
        raise StorageError(f"{error} It is not replaced: move it away, or choose another name.") from error


def _text(path: Path) -> str:
    return read_regular(beside(path), most=LARGEST).decode(errors="replace")


def npy_result(path: Path) -> StoredResult:
    """What an array that is there says about itself, in the file beside it."""
    if not (path.is_file() and beside(path).is_file()):
        raise foreign(path)
    text = _text(path)
    result = stored_result(text, path, lambda: stored_pixels(path, "array", inspect(path)), file=beside(path))
    info = inspect(path).arrays["array"]
    if info.dtype != np.complex64 or json.loads(text).get(SHAPE, list(info.shape)) != list(info.shape):
        raise foreign(path)
    return result
