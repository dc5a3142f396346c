"""Reads DICOM files of other people within bounds: a part of a file, and nothing that would have to be unpacked."""

import io
from pathlib import Path
from typing import Any

from somamba.extras import require
from somamba.regular_files import open_regular

MOST_BYTES = 1 << 26
"""Bytes of a file that are read from its beginning: a slice of 4096 x 4096 pixels has half of it."""
MAGIC = slice(128, 132)
SYNTAX, DEFLATED = 0x00020010, b"1.2.840.10008.1.2.1.99"
"""The element that says how the rest of a file is encoded, and the value for a rest that is compressed as a whole."""


def read_dicom(path: Path, **options: Any) -> Any:
    """Read the elements of a file that stand in its first `MOST_BYTES`.

    Args:
        path: The file.
        options: Passed on to ``pydicom.dcmread``.

    Raises:
        OSError: it cannot be opened, or is no regular file.
        ValueError: it is no DICOM file, or compressed as a whole. Damaged files make pydicom raise other errors too.
        MissingExtraError: pydicom is not installed.
    """
    pydicom = require("pydicom", extra="dicom")
    with open_regular(path) as file:
        content = file.read(MOST_BYTES)
    if content[MAGIC] != b"DICM":
        raise ValueError("it is no DICOM file")
    first = io.BytesIO(content[MAGIC.stop :])
    about = pydicom.filereader.data_element_generator(first, False, True, stop_when=lambda tag, *_: tag.group != 2)
    if any(element.tag == SYNTAX and bytes(element.value).rstrip(b"\0 ") == DEFLATED for element in about):
        # pydicom would unpack all of it at once, however large it becomes.
        raise ValueError("it is compressed as a whole")
    return pydicom.dcmread(io.BytesIO(content), **options)
