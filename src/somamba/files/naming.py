"""How files are called: which names hold raw scans, and which format the name of an output stands for.

No reader and no writer is imported, so planning is quick.
"""

from pathlib import Path

from somamba.errors import ConfigError, DataError
from somamba.registry import Registry

OUTPUT_ENDINGS: Registry[tuple[str, ...]] = Registry(
    "output format",
    {"h5": (".h5", ".hdf5"), "nii": (".nii.gz", ".nii"), "dcm": ("", ".dcm"), "npy": (".npy",), "png": (".png",)},
)
"""What the names of each format end in, the usual ending first; an empty one stands for a folder."""
ENDINGS = (".h5", ".hdf5", ".mrd", ".npy", ".npz", ".cfl", ".nii.gz", ".nii")
"""The endings that are read; `somamba.raw.opening.OPENERS` has a reader for each."""
READ = ".h5, .hdf5 and .mrd (fastMRI or ISMRMRD), .npy, .npz, .cfl with .hdr (BART), .nii and .nii.gz"


def stem(name: str) -> str:
    """The name of a file without its ending, both of them for ``.nii.gz``."""
    return name.removesuffix(".gz").rpartition(".")[0] or name


def output_name(name: str, format: str) -> str:  # noqa: A002
    """The name of the output of an input with this stem."""
    return name + OUTPUT_ENDINGS[format][0]


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """The format of an output: the one named, if the ending allows it, or by the ending.

    Raises:
        ConfigError: an ending that stands for no format, or for another one.
    """
    known = {ending: name for name, endings in OUTPUT_ENDINGS.items() for ending in endings if ending}
    found = next((name for ending, name in known.items() if path.name.endswith(ending)), None)
    wanted = found if format is None else format
    if wanted is None:
        raise ConfigError(
            f"{path}: its ending tells no format. Name it {', '.join(known)}; for a folder of DICOM files, say that "
            "its format is dcm."
        )
    endings = OUTPUT_ENDINGS[wanted]
    if wanted != found and (found is not None or "" not in endings):
        usual = " or ".join(ending or "nothing, for a folder," for ending in endings)
        raise ConfigError(f"{path}: the name of an output of format {wanted!r} must end in {usual}.")
    return wanted


def named_file(path: Path) -> Path:
    """The file that is meant: BART's users name a pair by either file, or by neither."""
    if path.suffix == ".hdr" or (not path.exists() and path.with_name(path.name + ".cfl").is_file()):
        return path.with_suffix(".cfl") if path.suffix == ".hdr" else path.with_name(path.name + ".cfl")
    if path.is_dir():
        raise DataError(f"{path}: it is a folder. Name a file: {READ}.")
    return path
