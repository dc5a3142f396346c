"""NumPy: the complex pictures as they are, ``(slices, rows, columns)`` complex64, and a ``.json`` beside them.

Two files cannot be replaced in one step. The second one holds the SHA-256 of the first, so a pair that does not belong
together is noticed.
"""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from somamba.durable import replace_file
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.stamp import KEY, foreign, read_stamp

DIGEST = "sha256"


def beside(path: Path) -> Path:
    """Where the provenance of an array lies: ``scan.npy.json`` for ``scan.npy``."""
    return path.with_name(f"{path.name}.json")


def write_npy(reconstruction: Reconstruction, path: Path) -> None:
    """Write the array, then its provenance."""
    buffer = io.BytesIO()
    np.save(buffer, reconstruction.images, allow_pickle=False)
    content = buffer.getvalue()
    affine = reconstruction.affine
    record = {
        KEY: reconstruction.provenance,
        "volumes": reconstruction.volumes,
        "voxel_mm": reconstruction.voxel,
        "affine": None if affine is None else affine.tolist(),
        DIGEST: hashlib.sha256(content).hexdigest(),
    }
    replace_file(path, content, shared=True)
    replace_file(beside(path), json.dumps(record, indent=1, allow_nan=False).encode(), shared=True)


def npy_provenance(path: Path) -> dict[str, Any]:
    """The provenance, if it belongs to the array."""
    if not (path.is_file() and beside(path).is_file()):
        raise foreign(path)
    text = beside(path).read_text(encoding="utf-8", errors="replace")
    provenance = read_stamp(text, path)
    with path.open("rb") as file:
        if json.loads(text).get(DIGEST) != hashlib.file_digest(file, "sha256").hexdigest():
            raise foreign(path)
    return provenance
