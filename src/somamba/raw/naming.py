"""Which names hold raw scans. No reader is imported, so planning is quick."""

from pathlib import Path

from somamba.errors import DataError

ENDINGS = (".h5", ".hdf5", ".mrd", ".npy", ".npz", ".cfl", ".nii.gz", ".nii")
"""The endings that are read; `somamba.raw.opening.OPENERS` has a reader for each."""
READ = ".h5, .hdf5 and .mrd (fastMRI or ISMRMRD), .npy, .npz, .cfl with .hdr (BART), .nii and .nii.gz"


def named_file(path: Path) -> Path:
    """The file that is meant: BART's users name a pair by either file, or by neither."""
    if path.suffix == ".hdr" or (not path.exists() and path.with_name(path.name + ".cfl").is_file()):
        return path.with_suffix(".cfl") if path.suffix == ".hdr" else path.with_name(path.name + ".cfl")
    if path.is_dir():
        raise DataError(f"{path}: it is a folder. Name a file: {READ}.")
    return path


def stem(name: str) -> str:
    """The name of a file without its ending, both of them for ``.nii.gz``."""
    return name.removesuffix(".gz").rpartition(".")[0] or name
