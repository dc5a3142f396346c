"""A folder of a user's own images or raw scans, in folders of their subjects or side by side.

    PATH/[train|val|test/][SUBJECT/...]NAME.{nii,nii.gz,npy,npz,h5,mrd,dcm}

The first folder below PATH is the subject, or a ``sub-NAME`` at the start of a file's name; a file without either is a
subject of its own. The subject of a DICOM series is its PatientID, if the folder holds several. If the parts ``train``,
``val`` and ``test`` are not folders, one subject in ten is for testing and one for validation, by a hash of its name,
so that the parts stay as they are when subjects are added.

Images are NIfTI, DICOM, NumPy or HDF5. ISMRMRD files and HDF5 in fastMRI's layout are raw scans, fully sampled:
protocol ``raw`` learns from their k-space, ``magnitude`` from their images.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.data.readers.dicom_series import DicomSeries, dicom_files, find_series, series_volume
from somamba.data.readers.raw_scan import holds_raw_scan, open_raw_case
from somamba.errors import DataError
from somamba.files.reading import FileInfo, Volume, inspect, read
from somamba.raw.naming import stem

ENDINGS = (".nii", ".nii.gz", ".npy", ".npz", ".h5", ".hdf5", ".mrd")
HDF5 = (".h5", ".hdf5", ".mrd")
PARTS: tuple[Role, ...] = ("train", "val", "test")
SUBJECT = re.compile(r"(sub-[A-Za-z0-9]+)_")
TENTHS = 10


def find(root: Path) -> Listing:
    """List the images of a folder; of DICOM files the headers are read, nothing else is opened."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder. Images or scans ({', '.join(ENDINGS)}, DICOM) are expected in it.")
    files = sorted(path for path in root.rglob("*") if path.is_file())
    named = [path for path in files if path.name.endswith(ENDINGS)]
    others = [path for path in files if not path.name.endswith(ENDINGS)]
    dicom = dicom_files(others)
    found = find_series(root, dicom)
    left_out = [
        LeftOut(name=str(path.relative_to(root)), reason=f"not one of {', '.join(ENDINGS)}, and not DICOM")
        for path in others
        if path not in set(dicom)
    ]
    patients = _patients(root, found.series)
    entries = [_entry(root, path, patients) for path in named]
    entries += [_series_entry(root, series, patients) for series in found.series]
    return Listing(
        entries=_trainable(entries),
        left_out=(*left_out, *found.left_out),
        notes=_notes(entries, named, found.series, patients),
    )


def subject_of(path: Path) -> str:
    """The subject of an image, by its place below the folder of the dataset."""
    if len(path.parts) > 1:
        return path.parts[0]
    match = SUBJECT.match(path.name)
    return match[1] if match else stem(path.name)


def role_of(subject: str) -> Role:
    """The part of a subject, by a hash of its name alone."""
    tenth = hashlib.sha256(f"folder/{subject}".encode()).digest()[0] % TENTHS
    return "test" if tenth == 0 else "val" if tenth == 1 else "train"


def open_case(entry: Entry) -> Case | LeftOut:
    """Check one file, or the files of a DICOM series, and return the case."""
    path = entry.files[0]
    if not path.name.endswith(ENDINGS):
        return Case(id=entry.id, source=str(path.parent), image=series_volume(entry.files))
    info = inspect(path)
    if path.name.endswith(HDF5) and holds_raw_scan(info):
        return open_raw_case(entry, info)
    name, shape = _images(info)
    return Case(
        id=entry.id,
        source=str(path),
        image=Volume(shape=shape, read=partial(_read, path, name, len(info.arrays[name].shape)), itemsize=4),
    )


def _place(root: Path, path: Path) -> tuple[Role | None, Path]:
    """The part that a file's first folder names, if it names one, and the rest of its path."""
    below = path.relative_to(root)
    role = next((part for part in PARTS if below.parts[0] == part), None)
    return role, below if role is None else below.relative_to(role)


def _entry(root: Path, path: Path, patients: Mapping[str, str] | None) -> Entry:
    role, rest = _place(root, path)
    subject = subject_of(rest)
    subject = (patients or {}).get(subject, subject)
    name = "/".join([*rest.parts[:-1], stem(path.name)])
    return Entry(id=name, subject=subject, role=role or role_of(subject), files=(path,), root=root)


def _series_entry(root: Path, series: DicomSeries, patients: Mapping[str, str] | None) -> Entry:
    role, rest = _place(root, series.files[0])
    name = "/".join([*rest.parts[:-1], f"series-{series.key}"])
    if patients is not None:
        subject = f"patient-{series.patient}"
    else:
        subject = rest.parts[0] if len(rest.parts) > 1 else f"series-{series.key}"
    return Entry(id=name, subject=subject, role=role or role_of(subject), files=series.files, root=root)


def _patients(root: Path, series: tuple[DicomSeries, ...]) -> dict[str, str] | None:
    """The patient of every first folder whose DICOM images are of one patient; None if PatientIDs tell nothing.

    Exports without names often carry one PatientID, or none, for all patients; then folders decide.
    """
    known = {one.patient for one in series}
    if len(known) < 2 or "" in known:
        return None
    inside: dict[str, set[str]] = {}
    for one in series:
        rest = _place(root, one.files[0])[1]
        if len(rest.parts) > 1:
            inside.setdefault(rest.parts[0], set()).add(one.patient)
    return {folder: f"patient-{min(patients)}" for folder, patients in inside.items() if len(patients) == 1}


def _notes(
    entries: list[Entry], named: list[Path], series: tuple[DicomSeries, ...], patients: Mapping[str, str] | None
) -> tuple[str, ...]:
    """What was understood, in words."""
    kinds = Counter(next(ending for ending in ENDINGS if path.name.endswith(ending)) for path in named)
    counted = [f"{count} x {kind}" for kind, count in kinds.most_common()]
    counted += [f"{len(series)} x DICOM series of {sum(len(one.files) for one in series)} files"] if series else []
    subjects = len({entry.subject for entry in entries})
    notes = [f"understood: {', '.join(counted) or 'nothing'}; {subjects} subjects"]
    if series:
        folders = "the first folder, because PatientIDs are missing or all the same"
        notes.append(f"the subject of a DICOM series is told by {folders if patients is None else 'its PatientID'}")
    return tuple(notes)


def _images(info: FileInfo) -> tuple[str, tuple[int, int, int]]:
    """The array of a file that holds images, and its shape as ``(slices, y, x)``."""
    info.check_nothing_refused("the array of images")
    real = {name: array.shape for name, array in info.arrays.items() if array.dtype.kind in "fiu"}
    fitting = {name: shape for name, shape in real.items() if len(shape) in (2, 3) and min(shape[-2:]) >= 8}
    if len(fitting) != 1:
        found = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in info.arrays.items()) or "none"
        raise DataError(
            f"{info.path}: exactly one array of real numbers, (slices, y, x) or (y, x), is expected; found {found}. "
            "Keep one image in a file; raw scans are read from ISMRMRD files and HDF5 with an array 'kspace'."
        )
    ((name, shape),) = fitting.items()
    return name, (shape if len(shape) == 3 else (1, *shape))  # type: ignore[return-value]


def _read(path: Path, name: str, axes: int, start: int, stop: int) -> NDArray[np.float32]:
    """Slices of the images; a single one is read whole."""
    values = read(path, name, start, stop) if axes == 3 else _whole(path, name)[start:stop]
    return np.ascontiguousarray(np.abs(values), dtype=np.float32)


def _whole(path: Path, name: str) -> NDArray[np.float32]:
    rows = inspect(path).arrays[name].shape[0]
    return read(path, name, 0, rows)[None]


def _trainable(entries: list[Entry]) -> tuple[Entry, ...]:
    """The entries; of two or more subjects at least one trains and one validates, whatever the hashes say."""
    roles = {entry.subject: entry.role for entry in entries}
    named = any(entry.files[0].relative_to(entry.root).parts[0] in PARTS for entry in entries)
    if named or len(roles) < len(("train", "val")):
        return tuple(entries)
    for wanted in ("train", "val"):
        if wanted not in roles.values():
            largest, _ = Counter(roles.values()).most_common(1)[0]
            roles[min(subject for subject, role in roles.items() if role == largest)] = wanted
    return tuple(replace(entry, role=roles[entry.subject]) for entry in entries)
