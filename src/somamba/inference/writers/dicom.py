"""DICOM: one secondary capture per slice, 16 bits, in a folder; ``.dcm`` is a single file for a single slice.

Every volume is a series of its own. Stored value times RescaleSlope is the magnitude; the slope is one for all slices.
Identifiers are made from the content, so the same reconstruction gets the same ones again. Names and dates are left
empty: they are not ours to know. The provenance is the private element (0099,1001) of creator ``somamba``.
"""

import hashlib
import io
import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from somamba.durable import replace_file, replace_folder
from somamba.errors import InputError
from somamba.extras import require
from somamba.inference.raw.geometry import LPS_TO_RAS
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.placement import Placement, placement
from somamba.inference.writers.stamp import KEY, RESEARCH, foreign, read_stamp, stamp

SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
EXPLICIT_LITTLE_ENDIAN = "1.2.840.10008.1.2.1"
WHITE = (1 << 16) - 1
WINDOW = 99.5
"""Percentile of the magnitudes that viewers show as white."""
GROUP, ELEMENT = 0x0099, 0x01


class Shared(NamedTuple):
    """What all files of one reconstruction have in common."""

    name: str
    stack: int
    pixels: NDArray[np.uint16]
    """``(slices, rows, columns)``; times the slope they are the magnitudes."""
    slope: str
    window: str
    place: Placement
    thickness: float | None
    stamp: str
    digest: bytes
    """Of everything there is to know, for identifiers."""

    def identifier(self, *what: object) -> str:
        """A UID for one thing among these files: a random-looking UUID under the root that is free for all (2.25)."""
        return f"2.25.{UUID(bytes=hashlib.sha256(self.digest + repr(what).encode()).digest()[:16], version=4).int}"


def write_dicom(reconstruction: Reconstruction, path: Path) -> None:
    """Write a folder of files, or the only slice as one file."""
    pydicom = require("pydicom", extra="dicom")
    slices = len(reconstruction.images)
    if path.name.endswith(".dcm") and slices > 1:
        raise InputError(f"{path}: {slices} slices are {slices} DICOM files. Name a folder: {path.with_suffix('')}")
    shared = _shared(pydicom, reconstruction)
    files = {f"{index + 1:04d}.dcm": _file(pydicom, shared, index) for index in range(slices)}
    if path.name.endswith(".dcm"):
        replace_file(path, files["0001.dcm"], shared=True)
    else:
        replace_folder(path, files, shared=True)


def dicom_provenance(path: Path) -> dict[str, Any] | None:
    """How a file, or a folder of files, came about; None for an empty folder."""
    pydicom = require("pydicom", extra="dicom")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    if not files:
        return None
    # A folder is replaced whole: whatever else is in it would be lost.
    if any(file.suffix != ".dcm" or not file.is_file() for file in files):
        raise foreign(path)
    try:
        values = pydicom.dcmread(files[0], stop_before_pixels=True)
        text = values.private_block(GROUP, KEY)[ELEMENT].value
    except (pydicom.errors.InvalidDicomError, LookupError, ValueError, TypeError, EOFError) as error:
        raise foreign(path) from error
    return read_stamp(str(text), path)


def _shared(pydicom: ModuleType, reconstruction: Reconstruction) -> Shared:
    decimal = pydicom.valuerep.format_number_as_ds
    magnitudes = reconstruction.magnitudes
    # The slope as it is stored, in 16 characters: with a longer one, the last digits of the magnitudes would differ.
    slope = decimal(float(magnitudes.max()) / WHITE or 1.0)
    content = hashlib.sha256(repr((reconstruction.name, reconstruction.images.shape, reconstruction.volumes)).encode())
    content.update(repr((reconstruction.voxel, stamp(reconstruction))).encode())
    content.update(b"" if reconstruction.affine is None else reconstruction.affine.tobytes())
    content.update(np.ascontiguousarray(reconstruction.images).data)
    return Shared(
        name=re.sub(r"[^\w .+-]", "_", reconstruction.name)[:48].strip() or "scan",
        stack=reconstruction.stack,
        pixels=np.minimum(np.rint(magnitudes / float(slope)), WHITE).astype(np.uint16),
        slope=slope,
        window=decimal(float(np.percentile(magnitudes, WINDOW)) or 1.0),
        place=placement(reconstruction),
        thickness=None if reconstruction.voxel is None else reconstruction.voxel[0],
        stamp=stamp(reconstruction),
        digest=content.digest(),
    )


def _file(pydicom: ModuleType, shared: Shared, index: int) -> bytes:
    values = pydicom.Dataset()
    values.file_meta = pydicom.dataset.FileMetaDataset()
    values.file_meta.TransferSyntaxUID = EXPLICIT_LITTLE_ENDIAN
    _describe(values, shared, index)
    _place(pydicom, values, shared, index)
    pixels = shared.pixels[index]
    values.SamplesPerPixel, values.PhotometricInterpretation, values.PixelRepresentation = 1, "MONOCHROME2", 0
    values.Rows, values.Columns = pixels.shape
    values.BitsAllocated, values.BitsStored, values.HighBit = 16, 16, 15
    values.RescaleIntercept, values.RescaleSlope, values.RescaleType = "0", shared.slope, "US"
    half = pydicom.valuerep.format_number_as_ds(float(shared.window) / 2)
    values.WindowCenter, values.WindowWidth = half, shared.window
    values.PixelData = pixels.astype("<u2").tobytes()
    values["PixelData"].VR = "OW"
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, values, enforce_file_format=True)
    return buffer.getvalue()


def _describe(values: Any, shared: Shared, index: int) -> None:
    """What it is, and what it is not."""
    volume = index // shared.stack
    values.SpecificCharacterSet = "ISO_IR 192"
    values.SOPClassUID, values.SOPInstanceUID = SECONDARY_CAPTURE, shared.identifier("slice", index)
    values.StudyInstanceUID, values.SeriesInstanceUID = (
        shared.identifier("study"),
        shared.identifier("series", volume),
    )
    values.Modality, values.ConversionType, values.ImageType = "MR", "WSD", ["DERIVED", "SECONDARY"]
    values.PatientID, values.StudyID = shared.name, ""
    for unknown in ("PatientName", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "AccessionNumber"):
        setattr(values, unknown, "")
    values.ReferringPhysicianName = values.PatientOrientation = ""
    values.Manufacturer = values.ManufacturerModelName = "somamba"
    values.SeriesNumber, values.InstanceNumber = volume + 1, index % shared.stack + 1
    values.SeriesDescription = f"somamba {shared.name}"
    values.DerivationDescription = "Magnitude of a reconstruction from k-space by a neural network or a linear method."
    values.ImageComments, values.BurnedInAnnotation, values.LossyImageCompression = RESEARCH, "NO", "00"
    values.private_block(GROUP, KEY, create=True).add_new(ELEMENT, "UT", shared.stamp)


def _place(pydicom: ModuleType, values: Any, shared: Shared, index: int) -> None:
    """Where it lies, as far as it is known. DICOM counts to the left and posterior, affines to right and anterior."""
    decimal = pydicom.valuerep.format_number_as_ds
    spacing, affine = shared.place
    if spacing is not None:
        values.PixelSpacing = [decimal(size) for size in spacing[1:]]
        values.SpacingBetweenSlices = decimal(spacing[0])
        values.SliceThickness = decimal(shared.thickness or spacing[0])
    if affine is None or spacing is None:
        return
    axes = LPS_TO_RAS @ affine[:3]
    along_row, along_column = axes[:, 0] / spacing[2], axes[:, 1] / spacing[1]
    corner = axes @ [0, 0, index % shared.stack, 1]
    values.FrameOfReferenceUID, values.PositionReferenceIndicator = shared.identifier("frame"), ""
    values.ImageOrientationPatient = [decimal(float(part)) for part in (*along_row, *along_column)]
    values.ImagePositionPatient = [decimal(float(part)) for part in corner]
