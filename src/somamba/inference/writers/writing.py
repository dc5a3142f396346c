"""Writes one reconstruction to one path, in the format of its ending; whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from somamba.errors import DataError, StorageError
from somamba.inference.plan import format_of
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.dicom import dicom_result, write_dicom
from somamba.inference.writers.hdf5 import hdf5_result, write_hdf5
from somamba.inference.writers.nifti import nifti_result, write_nifti
from somamba.inference.writers.numpy_file import npy_result, write_npy
from somamba.inference.writers.png import png_result, write_png
from somamba.inference.writers.stamp import StoredResult
from somamba.registry import Registry
from somamba.regular_files import check_regular


class OutputFormat(NamedTuple):
    """How pictures are stored in one kind of file."""

    write: Callable[[Reconstruction, Path], None]
    read: Callable[[Path], StoredResult | None]
    """Reads what a result that is there says about itself; None for an empty folder."""


FORMATS = Registry(
    "output format",
    {
        "h5": OutputFormat(write_hdf5, hdf5_result),
        "nii": OutputFormat(write_nifti, nifti_result),
        "dcm": OutputFormat(write_dicom, dicom_result),
        "npy": OutputFormat(write_npy, npy_result),
        "png": OutputFormat(write_png, png_result),
    },
)


def write(reconstruction: Reconstruction, path: str | Path, format: str | None = None) -> None:  # noqa: A002
    """Write a reconstruction; folders on the way are made.

    Args:
        reconstruction: What to write.
        path: The file, or the folder for DICOM files.
        format: Name of an entry of `FORMATS`; by the ending of ``path`` if None.

    Raises:
        ConfigError: a format or an ending that is not known.
        StorageError: a place that cannot be written, a full disk, or something there that somamba did not write; what
            was there is untouched.
        MissingExtraError: the format needs a package that is not installed.

    Examples:
        >>> import numpy as np, somamba
        >>> made = somamba.reconstruct(np.fft.fft2(np.ones((32, 32))).astype("complex64"), "zero_filled")
        >>> somamba.write(made, "images/first.nii.gz")
        >>> from pathlib import Path
        >>> sorted(path.name for path in Path("images").iterdir())
        ['first.nii.gz']
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    try:
        read_result(path, format)
    except DataError as error:
        raise StorageError(f"{error} It is not replaced: move it away, or choose another name.") from error
    chosen.write(reconstruction, path)


def read_provenance(path: str | Path, format: str | None = None) -> dict[str, Any] | None:  # noqa: A002
    """The provenance of a written file; None if nothing is there. Errors are those of `read_result`."""
    result = read_result(path, format)
    return None if result is None else dict(result.provenance)


def read_result(path: str | Path, format: str | None = None) -> StoredResult | None:  # noqa: A002
    """What a written file says about itself.

    Args:
        path: What `write` wrote.
        format: As for `write`.

    Returns:
        Its provenance and whether its pixels are intact; None if nothing is there.

    Raises:
        DataError: what is there was not written by somamba, or is damaged so far that this cannot be told.
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    try:
        if not path.exists():
            return None
        if not path.is_dir():
            check_regular(path)
        return chosen.read(path)
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({error.strerror or error}).") from error
