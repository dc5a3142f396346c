"""HDF5 files in the layout of fastMRI: ``kspace`` (slices, coils, y, x), or (slices, y, x) for a single coil.

M4Raw and many others use it too. ``mask`` and coil maps are used if the file has them; the ISMRMRD header tells how far
the readout is oversampled.
"""

from somamba.errors import DataError
from somamba.files.reading import FileInfo
from somamba.raw.arrays import MASK_NOTE, Stored, check_mask, maps_volume, raw_scan_from, stored_array
from somamba.raw.formats.mrd_header import Header, read_header
from somamba.raw.formats.numpy_files import maps_within, read_mask, refuse_trajectories, unused_masks
from somamba.raw.layout import Choices
from somamba.raw.raw_scan import RawScan

AXES = {3: ("slices", "y", "x"), 4: ("slices", "coils", "y", "x")}
IMAGES = ("reconstruction_rss", "reconstruction_esc", "reconstruction")


def open_fastmri(contents: FileInfo, choices: Choices) -> RawScan:
    """Open a file whose table of contents was read."""
    path = contents.path
    if "kspace" not in contents.arrays:
        raise DataError(f"{path}: {_without_kspace(contents)}")
    refuse_trajectories(contents)
    declared = contents.arrays.get("kspace")
    axes = 3 if declared is not None and len(declared.shape) == 3 else 4
    info = contents.array("kspace", axes=axes, kinds="c")
    header, notes = _header(contents)
    rows = info.shape[-2]
    maps = maps_within(contents)
    trimmed = None
    if header is not None and header.encoded.matrix[0] == rows and header.trimmed(0) < rows and maps is None:
        trimmed = header.trimmed(0)
        notes.append(f"The oversampled readout was trimmed from {rows} to {trimmed} rows.")
    volume = stored_array(path, "kspace", info).volume(AXES[axes])
    mask = read_mask(contents)
    if mask is not None:
        check_mask(mask, volume.shape, path)
        notes.append(MASK_NOTE)
    notes += unused_masks(contents)
    stored = Stored(
        path=path,
        format="fastMRI HDF5, " + ("single coil" if axes == 3 else "multi-coil"),
        volume=volume,
        centred=choices.centred,
        may_be_rolled=False,
        mask=mask,
        maps=None if maps is None else maps_volume(maps, volume.shape),
        rows=trimmed,
        columns=None if header is None else header.trimmed(1),
        voxel=None if header is None else _voxel(header, rows, info.shape[-1]),
        notes=tuple(notes),
    )
    return raw_scan_from(stored)


def _voxel(header: Header, rows: int, columns: int) -> tuple[float, float, float]:
    """The size of a voxel: k-space covers the encoded field of view, whatever the picture was interpolated to."""
    return header.wanted.spacing(2), header.encoded.view[0] / rows, header.encoded.view[1] / columns


def _header(contents: FileInfo) -> tuple[Header | None, list[str]]:
    """The header if it is complete. M4Raw's is not, so an incomplete one is no reason to refuse a file."""
    xml = contents.texts.get("ismrmrd_header")
    if xml is None:
        return None, []
    try:
        return read_header(xml, contents.path), []
    except DataError:
        return None, ["Its 'ismrmrd_header' is not a whole ISMRMRD header and was not used."]


def _without_kspace(contents: FileInfo) -> str:
    found = ", ".join(contents.arrays) or "no arrays"
    if any(name in contents.arrays for name in IMAGES):
        return f"it holds images only ({found}), no 'kspace', so there is nothing to reconstruct."
    refused = "".join(f" Refused: {reason}." for reason in contents.refused.values())
    return (
        f"neither a fastMRI file (no 'kspace'; found {found}) nor an ISMRMRD file (no group with 'data' and "
        f"'xml').{refused} Rename the array to 'kspace', shape (slices, coils, y, x), complex."
    )
