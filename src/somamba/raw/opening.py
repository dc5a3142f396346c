"""Opens a user's file: recognises it by what is in it, and reads it or says what to do instead."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from somamba.errors import ConfigError, DataError
from somamba.files.reading import Volume, inspect
from somamba.raw.arrays import arranged_maps, maps_volume, stored_array
from somamba.raw.coil_maps import with_placed_maps
from somamba.raw.formats.bart import cfl_volume, open_cfl
from somamba.raw.formats.fastmri import open_fastmri
from somamba.raw.formats.mrd import open_mrd
from somamba.raw.formats.nifti import open_nifti
from somamba.raw.formats.numpy_files import open_npy, open_npz
from somamba.raw.layout import Choices
from somamba.raw.naming import READ, named_file
from somamba.raw.raw_scan import RawScan
from somamba.regular_files import open_regular

DICOM = (
    "it is a DICOM image, a magnitude without k-space. Reconstruction needs raw data (ISMRMRD, from siemens_to_ismrmrd "
    "and the like); to simulate, convert it to NIfTI with dcm2niix."
)
FOREIGN = {
    (0, b"yardl"): (
        "it is an MRD version 2 stream. Version 1 (ISMRMRD HDF5) is read: convert it with the mrd tools, or export "
        "ISMRMRD from the scanner's converter."
    ),
    (128, b"DICM"): DICOM,
    (
        0,
        b"MATLAB 5.0",
    ): "it is a MATLAB 5 file. Save k-space as .npy (scipy.io.loadmat reads it) or with writecfl of BART.",
}
"""Contents that are recognised but not read: where, which bytes, and what to do."""
HDF5 = b"\x89HDF\r\n\x1a\n"
TWIX = "it looks like Siemens raw data (twix). Convert it: siemens_to_ismrmrd -f meas.dat -o scan.h5."


def open_raw_scan(
    path: str | Path,
    *,
    axes: tuple[str, ...] | None = None,
    centred: bool | None = None,
    maps: str | Path | None = None,
) -> RawScan:
    """Open a user's file.

    Args:
        path: fastMRI or ISMRMRD HDF5, NumPy, BART or NIfTI.
        axes: The axes of a NumPy array in their order, from slices, coils, y, x; found by their number if None.
        centred: True if zero frequency and object are in the middle of k-space and image, False if the zero frequency
            is the first sample; found by where the energy is if None.
        maps: A second file (.npy or .cfl) with coil maps; estimated later if None.

    Returns:
        The scan; its slices are read when they are asked for.

    Raises:
        DataError: a file that is missing, damaged or hostile, or that holds nothing to reconstruct; it says what to do.
        ConfigError: a choice that does not apply to such a file.

    Examples:
        >>> import numpy as np, somamba
        >>> kspace = np.fft.fftshift(np.fft.fft2(np.ones((4, 32, 24)))).astype("complex64")
        >>> np.save("kspace.npy", kspace)
        >>> scan = somamba.open_scan("kspace.npy", axes=("coils", "y", "x"))
        >>> scan.coils, scan.slices, scan.shape, tuple(scan.kspace(0).shape)
        (4, 1, (32, 24), (4, 32, 24))
    """
    path = named_file(Path(path))
    opener = _opener(path)
    choices = Choices(axes=axes, centred=centred)
    if axes is not None and opener not in (open_npy, open_npz):
        raise ConfigError(f"{path}: axes can be named for NumPy files only; this format fixes them.")
    scan = opener(path, choices)
    return scan if maps is None else with_placed_maps(replace(scan, coil_maps=_maps(named_file(Path(maps)), scan)))


def _maps(path: Path, scan: RawScan) -> Volume:
    """Coil maps of a file of their own, with rows and columns exchanged if those of k-space were."""
    if path.suffix == ".cfl":
        maps = cfl_volume(path)
    elif path.suffix == ".npy":
        rows, columns = scan.shape[::-1] if scan.transposed else scan.shape
        array = stored_array(path, "array", inspect(path).arrays["array"])
        maps = maps_volume(array, (scan.slices, scan.coils, rows, columns))
    else:
        raise DataError(f"{path}: coil maps are read from .npy or .cfl.")
    return arranged_maps(maps, scan.transposed)


def _opener(path: Path) -> Callable[[Path, Choices], RawScan]:
    """The reader of a file, by its content if that tells, else by its name."""
    try:
        with open_regular(path) as file:
            start = file.read(256)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    if not start:
        raise DataError(f"{path}: the file is empty.")
    for (offset, magic), advice in FOREIGN.items():
        if start[offset : offset + len(magic)] == magic:
            raise DataError(f"{path}: {advice}")
    name = path.name.lower()
    suffix = next((known for known in OPENERS if name.endswith(known)), None)
    if suffix is None:
        raise DataError(f"{path}: {_advice(name, start)}")
    if not path.name.endswith(suffix):
        raise DataError(f"{path}: its ending must be written {suffix}; rename it.")
    return OPENERS[suffix]


def _advice(name: str, start: bytes) -> str:
    if start.startswith(HDF5):
        return "it is HDF5 by its content; rename it to end in .h5."
    if name.endswith((".dcm", ".ima")):
        return DICOM
    if name.endswith(".dat"):
        return TWIX
    return f"its name does not tell what it is. Read are {READ}."


def _open_hdf5(path: Path, choices: Choices) -> RawScan:
    contents = inspect(path)
    # A list of acquisitions that must not be read is asked for too, and refuses the file.
    lists = [name for name in (*contents.arrays, *contents.refused) if name.endswith("/head")]
    groups = [name.removesuffix("/head") for name in lists if name in contents.arrays]
    if not groups:
        return open_fastmri(contents, choices)
    if len(groups) > 1:
        raise DataError(f"{path}: it holds several measurements ({', '.join(groups)}). Store one of them in a file.")
    _check_fixed(path, choices)
    return open_mrd(contents, groups[0])


def _open_nifti(path: Path, choices: Choices) -> RawScan:
    _check_fixed(path, choices)
    return open_nifti(path)


def _check_fixed(path: Path, choices: Choices) -> None:
    if choices.centred is not None:
        raise ConfigError(f"{path}: whether k-space is centred is fixed by this format; leave it out.")


OPENERS: dict[str, Callable[[Path, Choices], RawScan]] = {
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
    ".mrd": _open_hdf5,
    ".npy": open_npy,
    ".npz": open_npz,
    ".cfl": open_cfl,
    ".nii.gz": _open_nifti,
    ".nii": _open_nifti,
}
