"""The parts of an ISMRMRD file's XML header that a reconstruction needs."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from somamba.errors import DataError
from somamba.raw.arrays import LARGEST


class Space(NamedTuple):
    """A grid of the header, its x being the readout: matrix size and field of view in mm."""

    matrix: tuple[int, int, int]
    view: tuple[float, float, float]

    def spacing(self, axis: int) -> float:
        """Size of a voxel along x, y or z."""
        return self.view[axis] / self.matrix[axis]


@dataclass(frozen=True, kw_only=True)
class Header:
    """The first encoding of a header."""

    encoded: Space
    """The grid that was acquired."""
    wanted: Space
    """What the picture should be."""
    trajectory: str
    center: int | None
    """The number of the phase encoding step that is the zero frequency."""
    calibration: str
    """How calibration lines were acquired, e.g. ``embedded`` or ``separate``."""
    noise_bandwidth: float
    """Relative receiver noise bandwidth; 1 if the header does not tell it."""

    def trimmed(self, axis: int) -> int:
        """Samples along x or y within the field of view that is wanted: the rest is oversampling."""
        share = self.wanted.view[axis] / self.encoded.view[axis]
        return max(1, round(self.encoded.matrix[axis] * share)) if share < 1 else self.encoded.matrix[axis]


def parse_header(xml: str, path: Path) -> ElementTree.Element:
    """The root of an ISMRMRD header; refused if it is not plain XML."""
    if "<!DOCTYPE" in xml:
        raise DataError(f"{path}: the ISMRMRD header contains a document type, which no scanner writes.")
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DataError(f"{path}: the ISMRMRD header is not XML ({error}).") from error


def read_header(xml: str, path: Path) -> Header:
    """Parse a header, or say what is missing in it."""
    root = parse_header(xml, path)
    encoding = root.find("{*}encoding")
    if encoding is None:
        raise DataError(f"{path}: the ISMRMRD header has no <encoding>, so the size of k-space is not known.")
    return Header(
        encoded=_space(encoding, "encodedSpace", path),
        wanted=_space(encoding, "reconSpace", path),
        trajectory=_words(encoding, "trajectory").lower(),
        center=_center(encoding),
        calibration=_words(encoding, "parallelImaging/{*}calibrationMode").lower(),
        noise_bandwidth=_positive(_words(root, "acquisitionSystemInformation/{*}relativeReceiverNoiseBandwidth"))
        or 1.0,
    )


def _space(encoding: ElementTree.Element, name: str, path: Path) -> Space:
    matrix, view = (
        [_positive(_words(encoding, f"{name}/{{*}}{part}/{{*}}{axis}")) for axis in "xyz"]
        for part in ("matrixSize", "fieldOfView_mm")
    )
    if None in matrix or None in view or not all(size is not None and 1 <= size <= LARGEST for size in matrix):
        raise DataError(
            f"{path}: <{name}> of the ISMRMRD header needs matrixSize from 1 to {LARGEST} and fieldOfView_mm, each "
            "with x, y and z."
        )
    sizes, millimetres = ([number for number in numbers if number is not None] for numbers in (matrix, view))
    return Space((int(sizes[0]), int(sizes[1]), int(sizes[2])), (millimetres[0], millimetres[1], millimetres[2]))


def _center(encoding: ElementTree.Element) -> int | None:
    told = _words(encoding, "encodingLimits/{*}kspace_encoding_step_1/{*}center")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 6 else None


def _words(element: ElementTree.Element, name: str) -> str:
    return (element.findtext("{*}" + name) or "").strip()


def _positive(words: str) -> float | None:
    try:
        number = float(words)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
