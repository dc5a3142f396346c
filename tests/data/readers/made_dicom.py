"""DICOM files of a small volume, as a scanner would write them."""

import numpy as np
from pydicom import Dataset, dcmwrite
from pydicom.dataset import FileMetaDataset

VOLUME = np.random.default_rng(1).integers(0, 1000, (3, 20, 18)).astype(np.uint16)
AXIAL = [1, 0, 0, 0, 1, 0]
EXPLICIT = "1.2.840.10008.1.2.1"
MR_IMAGE = "1.2.840.10008.5.1.4.1.1.4"


def write_image(
    path, pixels, *, number=1, height=0.0, series="1", patient="P1", orientation=None, syntax=EXPLICIT, **elements
):
    """Write one file; its values are half the stored ones, plus seven."""
    values = Dataset()
    values.file_meta = FileMetaDataset()
    values.file_meta.TransferSyntaxUID = syntax
    values.SOPClassUID, values.SOPInstanceUID = MR_IMAGE, f"1.2.3.{_number(series)}.{number}"
    values.StudyInstanceUID, values.SeriesInstanceUID = "1.2.3", f"1.2.3.{_number(series)}"
    values.PatientID, values.PatientName, values.InstanceNumber = patient, "", number
    values.SpecificCharacterSet, values.Modality = "ISO_IR 192", "MR"
    if pixels is not None:
        values.Rows, values.Columns = pixels.shape[-2:]
        values.ImageOrientationPatient, values.ImagePositionPatient = orientation or AXIAL, [0, 0, height]
        values.PixelSpacing, values.SliceThickness = [1.5, 0.75], 4.0
        values.SamplesPerPixel, values.PhotometricInterpretation, values.PixelRepresentation = 1, "MONOCHROME2", 0
        values.BitsAllocated, values.BitsStored, values.HighBit = 16, 16, 15
        values.RescaleSlope, values.RescaleIntercept = "0.5", "7"
        values.PixelData = pixels.astype("<u2").tobytes()
        values["PixelData"].VR = "OW"
    for name, value in elements.items():
        setattr(values, name, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    if syntax != EXPLICIT and pixels is not None:
        values["PixelData"].is_undefined_length = True
        values.PixelData = b"\xfe\xff\x00\xe0\x00\x00\x00\x00\xfe\xff\xdd\xe0\x00\x00\x00\x00"
    dcmwrite(path, values, enforce_file_format=True)


def write_series(folder, *, names=("im0", "im1", "im2"), numbers=(1, 2, 3), prefix="", **facts):
    """Write the volume, one file for a slice, five millimetres apart; files are written from the top to the bottom."""
    for place in reversed(range(len(VOLUME))):
        path = folder / f"{prefix}{names[place]}"
        write_image(path, VOLUME[place], number=numbers[place], height=5.0 * place - 20, **facts)


def _number(text):
    return int.from_bytes(text.encode(), "big")
