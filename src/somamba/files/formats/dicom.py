"""DICOM images for the reading process: one image, or several frames, in a file. Needs pydicom (extra: dicom).

Identifiers leave this process as digests only, so that no name of a patient can end up in a log or a file name.
"""

import hashlib
from typing import Any

import numpy as np

from somamba.errors import MissingExtraError
from somamba.extras import require
from somamba.files.formats.npy import Allocate
from somamba.files.formats.texts import Texts
from somamba.files.limits import READ_BYTES, RefusedError, check_array, check_rows, n_bytes
from somamba.regular_files import open_regular

PREAMBLE, MAGIC = 128, b"DICM"
FLOAT32 = np.dtype("<f4").newbyteorder("=")
READABLE = {
    "1.2.840.10008.1.2",  # implicit little endian
    "1.2.840.10008.1.2.1",  # explicit little endian
    "1.2.840.10008.1.2.2",  # explicit big endian
    "1.2.840.10008.1.2.5",  # run lengths
}
"""Transfer syntaxes whose pixels are read; the others are compressed by codecs that pydicom does not have itself."""
NO_IMAGES = {"SEG": "a segmentation", "RTDOSE": "a dose"}
"""Modalities whose pixels are drawn or computed."""
IDENTIFIERS = {"series": "SeriesInstanceUID", "subject": "PatientID", "image": "SOPInstanceUID"}


def is_dicom(path: str) -> bool:
    """Whether a regular file has the mark of a DICOM file; its name need not tell."""
    with open_regular(path) as stream:
        stream.seek(PREAMBLE)
        return stream.read(len(MAGIC)) == MAGIC


def inspect_dicom(path: str) -> dict[str, Any]:
    """The one array, and what sorts the files of a series."""
    values = _values(path, pixels=False)
    texts = Texts()
    for name, keyword in IDENTIFIERS.items():
        texts.keep(name, _digest(values.get(keyword)))
    texts.keep("instance", int(values.get("InstanceNumber") or 0))
    orientation, corner = (_numbers(values, word) for word in ("ImageOrientationPatient", "ImagePositionPatient"))
    if len(orientation) == 6 and len(corner) == 3:
        normal = np.cross(orientation[:3], orientation[3:])
        texts.keep("orientation", " ".join(f"{part + 0.0:.3f}" for part in np.round(orientation, 3)))
        texts.keep("position", float(normal @ np.asarray(corner)))
    return {"arrays": {"image": {"shape": list(_shape(values)), "dtype": "<f4"}}, "texts": texts.kept}


def read_dicom(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read frames as float32, in the units that the file's slope and intercept give.

    Args:
        path: The DICOM file.
        name: The name of its array.
        start: The first frame.
        stop: The frame after the last one.
        allocate: Gives the memory for the answer.
    """
    if name != "image":
        raise RefusedError(f"a DICOM file has one array, 'image', not {name!r}")
    values = _values(path, pixels=True)
    shape = _shape(values)
    check_rows(shape, FLOAT32.itemsize, start, stop)
    if "PixelData" not in values:
        raise RefusedError("it has no pixels")
    slope, intercept = float(values.get("RescaleSlope") or 1), float(values.get("RescaleIntercept") or 0)
    frames = values.pixel_array.reshape(shape)
    images = allocate((stop - start, *shape[1:]), FLOAT32)
    for image, frame in zip(images, frames[start:stop], strict=True):
        image[:] = frame * slope + intercept


def _values(path: str, *, pixels: bool) -> Any:
    """The parsed file, if it is an image that can be read."""
    try:
        pydicom = require("pydicom", extra="dicom")
    except MissingExtraError as error:
        raise RefusedError(str(error).removesuffix(".")) from error
    with open_regular(path) as stream:
        try:
            values = pydicom.dcmread(stream, stop_before_pixels=not pixels)
        except pydicom.errors.InvalidDicomError:
            raise RefusedError("it is not a DICOM file") from None
    if "Rows" not in values or "Columns" not in values:
        raise RefusedError("it is a DICOM file without an image (a report, a directory, a presentation state)")
    if (modality := str(values.get("Modality", ""))) in NO_IMAGES:
        raise RefusedError(f"it is {NO_IMAGES[modality]}, not an image")
    if int(values.get("SamplesPerPixel", 1)) != 1 or values.get("PhotometricInterpretation") != "MONOCHROME2":
        raise RefusedError(
            f"its pixels are {values.get('PhotometricInterpretation', 'of an unknown kind')}; grey images "
            "(MONOCHROME2) are read"
        )
    syntax = str(values.file_meta.get("TransferSyntaxUID", ""))
    if syntax not in READABLE:
        raise RefusedError(f"its pixels are compressed ({syntax or 'in an unknown way'}); gdcmconv --raw unpacks them")
    return values


def _shape(values: Any) -> tuple[int, int, int]:
    shape = (int(values.get("NumberOfFrames") or 1), int(values.Rows), int(values.Columns))
    check_array(shape, FLOAT32)
    if n_bytes(shape, FLOAT32.itemsize) > READ_BYTES:
        raise RefusedError(f"it declares {shape[0]} frames of {shape[1]} x {shape[2]}; at most {READ_BYTES >> 20} MiB")
    return shape


def _numbers(values: Any, keyword: str) -> list[float]:
    """The numbers of an element; none if it is missing or empty."""
    found = values.get(keyword)
    if found is None or found == "":
        return []
    numbers = [float(part) for part in (found if np.iterable(found) and not isinstance(found, str) else [found])]
    if not np.isfinite(numbers).all():
        raise RefusedError(f"its {keyword} is not finite, so it cannot be told where its image lies")
    return numbers


def _digest(identifier: Any) -> str:
    """Twelve digits that stand for an identifier; empty if there is none."""
    text = str(identifier or "").strip()
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""
