"""The ISMRMRD header that fastMRI and M4Raw keep as XML text: only the voxel size is taken from it."""

import math
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from somamba.errors import DataError


def parse_header(xml: str, path: Path) -> ElementTree.Element:
    """The root of an ISMRMRD header; refused if it is not plain XML."""
    if "<!DOCTYPE" in xml:
        raise DataError(f"{path}: the ISMRMRD header contains a document type, which no scanner writes.")
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DataError(f"{path}: the ISMRMRD header is not XML ({error}).") from error


def voxel_size(xml: str, path: Path, *, rows: Literal["x", "y"]) -> tuple[float, float, float] | None:
    """Size in mm along ``(slices, y, x)`` of the reconstructed grid, or None if the header does not tell.

    Args:
        xml: The header.
        path: Its file, for messages.
        rows: The header's name of the axis that numbers the image rows: its x is always the readout.
    """
    space = parse_header(xml, path).find("{*}encoding/{*}reconSpace")
    if space is None:
        return None
    sizes = [_ratio(space, axis) for axis in ("zxy" if rows == "x" else "zyx")]
    if any(size is None for size in sizes):
        return None
    depth, height, width = (float(size) for size in sizes if size is not None)
    return depth, height, width


def _ratio(space: ElementTree.Element, axis: str) -> float | None:
    view, count = space.findtext(f"{{*}}fieldOfView_mm/{{*}}{axis}"), space.findtext(f"{{*}}matrixSize/{{*}}{axis}")
    try:
        size = float(view or "nan") / float(count or "nan")
    except (ValueError, ZeroDivisionError):
        return None
    return size if math.isfinite(size) and size > 0 else None
