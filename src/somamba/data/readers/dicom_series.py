"""Series of DICOM images in a folder tree: which files belong together, in which order, and which are odd.

Headers are read by the reading process (`somamba.files`); patients and series are known by digests of their
identifiers. Files that are no image, copies of others, and images of another size or direction than most of their
series are left out, and it is said why.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import LeftOut
from somamba.errors import DataError
from somamba.extras import require
from somamba.files.formats.dicom import is_dicom
from somamba.files.reading import FileInfo, Volume, inspect, read


@dataclass(frozen=True)
class DicomSeries:
    """The files of one series, in the order of their slices."""

    key: str
    """Digest of the series, unique within a folder tree; a file that names no series is one, by its name."""
    patient: str
    """Digest of the PatientID; empty if the files have none."""
    files: tuple[Path, ...]


@dataclass(frozen=True)
class FoundSeries:
    """All series of a folder tree, and the files that belong to none."""

    series: tuple[DicomSeries, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def dicom_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that have the mark of DICOM."""
    return [path for path in paths if is_dicom(str(path))]


def find_series(root: Path, files: Iterable[Path]) -> FoundSeries:
    """Sort DICOM files into series.

    Args:
        root: Folder of the dataset, for the names of files that are left out.
        files: The files.

    Raises:
        MissingExtraError: pydicom is not installed.
    """
    left_out: list[LeftOut] = []
    images: dict[str, list[FileInfo]] = defaultdict(list)
    seen: set[str] = set()
    for path in sorted(files):
        require("pydicom", extra="dicom")
        try:
            info = _header(path, *_state(path))
        except DataError as error:
            left_out.append(LeftOut(name=str(path.relative_to(root)), reason=_reason(path, error)))
            continue
        same = info.texts["image"]
        if same and same in seen:
            left_out.append(LeftOut(name=str(path.relative_to(root)), reason="a copy of another DICOM image"))
            continue
        seen.add(same)
        images[info.texts["series"] or path.name].append(info)
    series = []
    for key, found in images.items():
        usual, odd = _alike(found)
        left_out += [LeftOut(name=str(info.path.relative_to(root)), reason=reason) for info, reason in odd]
        ordered = sorted(usual, key=_place)
        series.append(DicomSeries(key, ordered[0].texts["subject"], tuple(info.path for info in ordered)))
    return FoundSeries(tuple(series), tuple(left_out))


def series_volume(files: tuple[Path, ...]) -> Volume:
    """The slices of a series.

    Args:
        files: The files in the order of their slices, as `DicomSeries.files` has them.
    """
    headers = [_header(path, *_state(path)) for path in files]
    for info in headers:
        if info.arrays["image"].shape[1:] != headers[0].arrays["image"].shape[1:]:
            raise DataError(f"{info.path}: its size is another one than when the series was found; look again.")
    places = [(info.path, frame) for info in headers for frame in range(info.arrays["image"].shape[0])]
    shape = (len(places), *headers[0].arrays["image"].shape[1:])
    return Volume(shape=shape, read=lambda start, stop: _read(places[start:stop]), itemsize=4)


def _read(places: list[tuple[Path, int]]) -> NDArray[np.float32]:
    return np.stack([read(path, "image", frame, frame + 1)[0] for path, frame in places])


def _alike(found: list[FileInfo]) -> tuple[list[FileInfo], list[tuple[FileInfo, str]]]:
    """The images of the commonest size and direction, and the others with the reason why they are left out."""

    def kind(info: FileInfo) -> tuple[Any, str]:
        return info.arrays["image"].shape[1:], info.texts.get("orientation", "")

    usual = Counter(map(kind, found)).most_common(1)[0][0]
    odd = []
    for info in found:
        if (mine := kind(info)) != usual:
            what = "size" if mine[0] != usual[0] else "direction"
            odd.append((info, f"a DICOM image of another {what} than most of its series"))
    return [info for info in found if kind(info) == usual], odd


def _place(info: FileInfo) -> tuple[float, int, str]:
    """What sorts the images of a series: position along the normal, then number, then name."""
    return float(info.texts.get("position", "0")), int(info.texts["instance"]), info.path.name


def _reason(path: Path, error: DataError) -> str:
    return str(error).removeprefix(f"{path.absolute()}: ").removesuffix(".")


def _state(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=1 << 16)
def _header(path: Path, _size: int, _changed: int) -> FileInfo:
    """The header of one file; the splits of a dataset ask for it several times."""
    return inspect(path)
