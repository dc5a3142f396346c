"""DICOM: one file per slice, 16 bits, in a folder; ``.dcm`` is a single file for a single slice.

Files are MR Image Storage if it is known where the slices lie, and Secondary Capture otherwise. All volumes of a
dynamic scan are one series. Stored values reach from 0 to `WHITE` for the brightest pixel of the series, RescaleSlope
is 1, and the private element (0099,1002) of creator ``somamba`` is the true scale: stored value times it is the
magnitude. Identifiers are made from the content, so the same reconstruction gets the same ones again. Patient and study
come from a template, a DICOM file of the same examination; without one they are empty, because they are not known. The
provenance is the private element (0099,1001).
"""

import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from somamba.durable import replace_file, replace_folder
from somamba.errors import DataError, InputError
from somamba.extras import require
from somamba.inference.reconstruction import Placement, Reconstruction, placement
from somamba.inference.writers.dicom_file import read_dicom
from somamba.inference.writers.stamp import KEY, RESEARCH, StoredResult, foreign, seal, stamp, stored_result
from somamba.raw.geometry import LPS_TO_RAS

SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
EXPLICIT_LITTLE_ENDIAN = "1.2.840.10008.1.2.1"
MR_IMAGE = "1.2.840.10008.5.1.4.1.1.4"
WHITE = (1 << 15) - 1
"""The stored value of the brightest pixel: it fits signed and unsigned 16-bit readers."""
SERIES = 9001
"""SeriesNumber: far from the numbers of a scanner's own series, beside which a template may put it."""
WINDOW = 99.5
"""Percentile of the magnitudes that viewers show as white."""
GROUP, ELEMENT, SCALE = 0x0099, 0x01, 0x02


class Shared(NamedTuple):
    """What all files of one reconstruction have in common."""

    reconstruction: Reconstruction
    name: str
    pixels: NDArray[np.uint16]
    """``(slices, rows, columns)``; times the scale they are the magnitudes."""
    scale: float
    window: float
    """Width of the window in stored values."""
    place: Placement
    digest: bytes
    """SHA-256 of everything that is written, for identifiers."""

    @property
    def stack(self) -> int:
        """Slices of one volume."""
        return self.reconstruction.stack

    def identifier(self, *what: object) -> str:
        """A UID for one thing among these files: a random-looking UUID under the root that is free for all (2.25)."""
        return f"2.25.{UUID(bytes=hashlib.sha256(self.digest + repr(what).encode()).digest()[:16], version=4).int}"


def write_dicom(reconstruction: Reconstruction, path: Path) -> None:
    """Write a folder of files, or the only slice as one file."""
    pydicom = require("pydicom", extra="dicom")
    slices = len(reconstruction.images)
    if path.name.endswith(".dcm") and slices > 1:
        raise InputError(f"{path}: {slices} slices are {slices} DICOM files. Name a folder: {path.with_suffix('')}")
    shared = _shared(reconstruction)
    files = {f"{index + 1:04d}.dcm": _file(pydicom, shared, index) for index in range(slices)}
    if path.name.endswith(".dcm"):
        replace_file(path, files["0001.dcm"], shared=True)
    else:
        replace_folder(path, files, shared=True)


def dicom_result(path: Path) -> StoredResult | None:
    """What a file, or a folder of files, says about itself; None for an empty folder."""
    require("pydicom", extra="dicom")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    if not files:
        return None
    # A folder is replaced whole: whatever else is in it would be lost.
    if any(file.suffix != ".dcm" or not file.is_file() for file in files):
        raise foreign(path)
    results = [_stored(file, len(files)) for file in files]
    return StoredResult(results[0].provenance, lambda: all(result.intact() for result in results))


def _stored(file: Path, files: int) -> StoredResult:
    """One file of a series that should have this many files."""
    try:
        values = read_dicom(file, stop_before_pixels=True)
        text = values.private_block(GROUP, KEY)[ELEMENT].value
    except OSError:
        raise
    except Exception as error:
        # pydicom parses lazily, and fails in many ways on damaged files.
        raise foreign(file) from error

    def pixels() -> Iterator[NDArray[Any]]:
        try:
            found, wanted = np.frombuffer(read_dicom(file).PixelData, "<u2"), int(values.ImagesInAcquisition)
        except Exception as error:
            raise DataError(f"{file}: it is damaged.") from error
        yield found
        if wanted != files:
            raise DataError(f"{file}: its series has {wanted} files, but {files} are there.")

    return stored_result(str(text), file, pixels)


def _shared(reconstruction: Reconstruction) -> Shared:
    magnitudes = reconstruction.magnitudes
    scale = float(magnitudes.max()) / WHITE or 1.0
    content = hashlib.sha256(repr((reconstruction.name, reconstruction.images.shape, reconstruction.volumes)).encode())
    content.update(repr((reconstruction.voxel, dict(reconstruction.study))).encode())
    content.update(stamp(reconstruction, (reconstruction.images,), sealed=False).encode())
    content.update(b"" if reconstruction.affine is None else reconstruction.affine.tobytes())
    pixels = np.rint(magnitudes.astype(np.float64) / scale)
    return Shared(
        reconstruction=reconstruction,
        name=re.sub(r"[^\w .+-]", "_", reconstruction.name)[:48].strip() or "scan",
        pixels=np.minimum(pixels, WHITE).astype(np.uint16),
        scale=scale,
        window=max(1.0, float(np.percentile(pixels, WINDOW))),
        place=placement(reconstruction),
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
    values.RescaleIntercept, values.RescaleSlope, values.RescaleType = "0", "1", "US"
    decimal = pydicom.valuerep.format_number_as_ds
    values.WindowCenter, values.WindowWidth = decimal(shared.window / 2), decimal(shared.window)
    block = values.private_block(GROUP, KEY, create=True)
    block.add_new(ELEMENT, "UT", stamp(shared.reconstruction, (pixels,)))
    block.add_new(SCALE, "FD", shared.scale)
    values.PixelData = pixels.astype("<u2").tobytes()
    values["PixelData"].VR = "OW"
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, values, enforce_file_format=True)
    return seal(buffer.getvalue())


def _describe(values: Any, shared: Shared, index: int) -> None:
    """Write what the file is, and what it is not."""
    volume, volumes = index // shared.stack, shared.reconstruction.volumes
    values.SpecificCharacterSet = "ISO_IR 192"
    values.SOPInstanceUID = shared.identifier("slice", index)
    values.StudyInstanceUID, values.SeriesInstanceUID = shared.identifier("study"), shared.identifier("series")
    values.PatientID = shared.name
    for unknown in ("PatientName", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "AccessionNumber"):
        setattr(values, unknown, "")
    values.StudyID = values.ReferringPhysicianName = values.PatientOrientation = ""
    for keyword, value in shared.reconstruction.study.items():
        setattr(values, keyword, value)
    values.Modality, values.Manufacturer, values.ManufacturerModelName = "MR", "somamba", "somamba"
    values.SeriesNumber, values.InstanceNumber, values.AcquisitionNumber = SERIES, index + 1, volume + 1
    if volumes > 1:
        values.TemporalPositionIdentifier, values.NumberOfTemporalPositions = volume + 1, volumes
    values.ImagesInAcquisition = len(shared.pixels)
    values.SeriesDescription = f"somamba {shared.name}"
    values.DerivationDescription = "Magnitude of a reconstruction from k-space by a neural network or a linear method."
    values.ImageComments, values.BurnedInAnnotation, values.LossyImageCompression = RESEARCH, "NO", "00"
    if shared.place.affine is None:
        values.SOPClassUID, values.ConversionType, values.ImageType = SECONDARY_CAPTURE, "WSD", ["DERIVED", "SECONDARY"]
        return
    values.SOPClassUID, values.ImageType = MR_IMAGE, ["DERIVED", "SECONDARY", "OTHER"]
    # The standard requires these of an MR image. RM is its word for a sequence of research.
    values.ScanningSequence, values.SequenceVariant, values.MRAcquisitionType = "RM", "NONE", "2D"
    for unknown in ("ScanOptions", "RepetitionTime", "EchoTime", "EchoTrainLength", "PatientPosition"):
        if unknown not in shared.reconstruction.study:
            setattr(values, unknown, None)


def _place(pydicom: ModuleType, values: Any, shared: Shared, index: int) -> None:
    """Write where the slice lies, as far as it is known.

    DICOM counts to the left and posterior, affines count to the right and anterior.
    """
    decimal = pydicom.valuerep.format_number_as_ds
    spacing, affine = shared.place
    if spacing is not None:
        values.PixelSpacing = [decimal(size) for size in spacing[1:]]
        values.SpacingBetweenSlices = decimal(spacing[0])
        voxel = shared.reconstruction.voxel
        values.SliceThickness = decimal(spacing[0] if voxel is None else voxel[0])
    if affine is None or spacing is None:
        return
    axes = LPS_TO_RAS @ affine[:3]
    along_row, along_column = axes[:, 0] / spacing[2], axes[:, 1] / spacing[1]
    corner = axes @ [0, 0, index % shared.stack, 1]
    frame = shared.reconstruction.study.get("FrameOfReferenceUID") or shared.identifier("frame")
    values.FrameOfReferenceUID, values.PositionReferenceIndicator = frame, ""
    values.ImageOrientationPatient = [decimal(float(part)) for part in (*along_row, *along_column)]
    values.ImagePositionPatient = [decimal(float(part)) for part in corner]
