"""The door: one reconstruction, one path, the format by its ending; written whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from somamba.errors import ConfigError, DataError, StorageError
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.dicom import dicom_provenance, write_dicom
from somamba.inference.writers.hdf5 import hdf5_provenance, write_hdf5
from somamba.inference.writers.nifti import nifti_provenance, write_nifti
from somamba.inference.writers.numpy_file import npy_provenance, write_npy
from somamba.inference.writers.png import png_provenance, write_png
from somamba.registry import Registry


class OutputFormat(NamedTuple):
    """How pictures are stored in one kind of file."""

    endings: tuple[str, ...]
    """What names end in, the usual one first; an empty one stands for a folder."""
    write: Callable[[Reconstruction, Path], None]
    provenance: Callable[[Path], dict[str, Any] | None]


FORMATS = Registry(
    "output format",
    {
        "h5": OutputFormat((".h5", ".hdf5"), write_hdf5, hdf5_provenance),
        "nii": OutputFormat((".nii.gz", ".nii"), write_nifti, nifti_provenance),
        "dcm": OutputFormat(("", ".dcm"), write_dicom, dicom_provenance),
        "npy": OutputFormat((".npy",), write_npy, npy_provenance),
        "png": OutputFormat((".png",), write_png, png_provenance),
    },
)


def write(reconstruction: Reconstruction, path: str | Path, format: str | None = None) -> None:  # noqa: A002
    """Write a reconstruction; folders on the way are made.

    Args:
        reconstruction: What to write.
        path: Where to.
        format: Name of an entry of `FORMATS`; by the ending of ``path`` if None.

    Raises:
        ConfigError: a format or an ending that is not known.
        StorageError: a place that cannot be written, a full disk, or something there that somamba did not write; what
            was there is untouched.
        MissingExtraError: the format needs a package that is not installed.
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    try:
        read_provenance(path, format)
    except DataError as error:
        raise StorageError(f"{error} It is not replaced: move it away, or choose another name.") from error
    chosen.write(reconstruction, path)


def read_provenance(path: str | Path, format: str | None = None) -> dict[str, Any] | None:  # noqa: A002
    """How a written file came about.

    Args:
        path: What `write` wrote.
        format: As for `write`.

    Returns:
        The provenance of the reconstruction; None where nothing is there.

    Raises:
        DataError: what is there was not written by somamba, or is damaged.
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    try:
        return chosen.provenance(path) if path.exists() else None
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({error.strerror or error}).") from error


def stem(name: str) -> str:
    """The name of a file without its ending, both of them for ``.nii.gz``."""
    return name.removesuffix(".gz").rpartition(".")[0] or name


def output_name(name: str, format: str) -> str:  # noqa: A002
    """How the output of an input with this stem is called."""
    return name + FORMATS[format].endings[0]


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """The format of an output: the one named, if the ending allows it, or by the ending."""
    known = {ending: name for name, entry in FORMATS.items() for ending in entry.endings if ending}
    found = next((name for ending, name in known.items() if path.name.endswith(ending)), None)
    wanted = found if format is None else format
    if wanted is None:
        raise ConfigError(
            f"{path}: its ending tells no format. Name it {', '.join(known)}; for a folder of DICOM files, say that "
            "its format is dcm."
        )
    endings = FORMATS[wanted].endings
    if wanted != found and (found is not None or "" not in endings):
        usual = " or ".join(ending or "nothing, for a folder," for ending in endings)
        raise ConfigError(f"{path}: the name of an output of format {wanted!r} must end in {usual}.")
    return wanted
