"""A folder of a user's own magnitude images: NIfTI, NumPy or HDF5 files, in folders of their subjects or side by side.

    PATH/[train|val|test/][SUBJECT/...]NAME.{nii,nii.gz,npy,npz,h5}

The first folder below PATH is the subject, or a ``sub-NAME`` at the start of a file's name; a file without either is a
subject of its own. If the parts ``train``, ``val`` and ``test`` are not folders, one subject in ten is for testing and
one for validation, by a hash of its name, so that the parts stay as they are when subjects are added.
"""

import hashlib
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role, Volume
from somamba.data.readers.folders import stem
from somamba.errors import DataError
from somamba.files.contents import FileInfo
from somamba.files.reading import inspect, read

ENDINGS = (".nii", ".nii.gz", ".npy", ".npz", ".h5", ".hdf5")
PARTS: tuple[Role, ...] = ("train", "val", "test")
SUBJECT = re.compile(r"(sub-[A-Za-z0-9]+)_")
TENTHS = 10


def find(root: Path) -> Listing:
    """List the images of a folder; nothing is opened."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder. Images ({', '.join(ENDINGS)}) are expected in it.")
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        below = path.relative_to(root)
        if not path.name.endswith(ENDINGS):
            left_out.append(LeftOut(name=str(below), reason=f"not one of {', '.join(ENDINGS)}"))
            continue
        role = next((part for part in PARTS if below.parts[0] == part), None)
        rest = below if role is None else below.relative_to(role)
        subject = subject_of(rest)
        name = "/".join([*rest.parts[:-1], stem(path)])
        entries.append(Entry(id=name, subject=subject, role=role or role_of(subject), files=(path,), root=root))
    return Listing(entries=_trainable(entries), left_out=tuple(left_out))


def subject_of(path: Path) -> str:
    """The subject of an image, by its place below the folder of the dataset."""
    if len(path.parts) > 1:
        return path.parts[0]
    match = SUBJECT.match(path.name)
    return match[1] if match else stem(path)


def role_of(subject: str) -> Role:
    """The part of a subject, by a hash of its name alone."""
    tenth = hashlib.sha256(f"folder/{subject}".encode()).digest()[0] % TENTHS
    return "test" if tenth == 0 else "val" if tenth == 1 else "train"


def open_case(entry: Entry) -> Case | LeftOut:
    """Check one file and return its case."""
    (path,) = entry.files
    info = inspect(path)
    name, shape = _images(info)
    voxel = info.voxel if info.voxel is not None and len(info.voxel) == 3 else None
    return Case(
        id=entry.id,
        source=str(path),
        image=Volume(shape=shape, read=partial(_read, path, name, len(info.arrays[name].shape)), itemsize=4),
        voxel=None if voxel is None else (voxel[0], voxel[1], voxel[2]),
    )


def _images(info: FileInfo) -> tuple[str, tuple[int, int, int]]:
    """The array of a file that holds images, and its shape as ``(slices, y, x)``."""
    info.check_nothing_refused("the array of images")
    real = {name: array.shape for name, array in info.arrays.items() if array.dtype.kind in "fiu"}
    fitting = {name: shape for name, shape in real.items() if len(shape) in (2, 3) and min(shape[-2:]) >= 8}
    if len(fitting) != 1:
        found = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in info.arrays.items()) or "none"
        raise DataError(
            f"{info.path}: exactly one array of real numbers, (slices, y, x) or (y, x), is expected; found {found}. "
            "Keep one image in a file; complex k-space belongs to dataset 'fastmri_multicoil' or 'cc359_multicoil'."
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
