"""Patient and study of a DICOM file of the same examination, for DICOM results that belong beside it."""

from pathlib import Path
from typing import Any

from somamba.errors import DataError, MissingExtraError
from somamba.inference.writers.dicom_file import read_dicom

KEYWORDS = (
    *("PatientName", "PatientID", "IssuerOfPatientID", "PatientBirthDate", "PatientSex", "PatientAge"),
    *("PatientWeight", "PatientSize", "StudyInstanceUID", "StudyDate", "StudyTime", "StudyID", "StudyDescription"),
    *("AccessionNumber", "ReferringPhysicianName", "InstitutionName", "BodyPartExamined", "PatientPosition"),
    "FrameOfReferenceUID",
)
"""What is taken from a template."""
LONGEST = 256
"""Characters of one value: longer ones are no names, dates or identifiers."""


def read_template(path: Path) -> dict[str, str]:
    """Patient and study of a DICOM file, by keyword.

    Raises:
        DataError: it is not a regular file, not DICOM, or does not say which study it belongs to.
        MissingExtraError: pydicom is not installed.
    """
    try:
        values = read_dicom(path, stop_before_pixels=True, specific_tags=list(KEYWORDS))
        study = {keyword: _text(values, keyword) for keyword in KEYWORDS if keyword in values}
    except MissingExtraError:
        raise
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({error.strerror or error}).") from error
    except Exception as error:
        # pydicom parses lazily, and fails in many ways on damaged files.
        raise DataError(
            f"{path}: it is not a DICOM file, is damaged, or is compressed as a whole; a template is one of the scan."
        ) from error
    study = {keyword: text for keyword, text in study.items() if text}
    if "StudyInstanceUID" not in study:
        raise DataError(f"{path}: it does not say which study it belongs to (StudyInstanceUID).")
    return study


def _text(values: Any, keyword: str) -> str:
    text = str(values[keyword].value or "")
    if len(text) > LONGEST or not text.isprintable():
        raise ValueError(keyword)
    return text
