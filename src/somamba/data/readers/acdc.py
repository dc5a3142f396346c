"""ACDC cardiac cine, NIfTI (Bernard et al. 2018): end diastole and end systole of each patient.

``training/patient001/`` holds ``Info.cfg`` (which frame is ED, which ES, the diagnostic group),
``patient001_frame01.nii.gz`` and their ``_gt`` segmentations, and the whole cine ``patient001_4d.nii.gz``. A case is a
patient: the slices of ED, then those of ES. Patients 001 to 100 are the official training part, 101 to 150 the test
part.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.data.readers.folders import official_folders
from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read
from somamba.regular_files import open_regular

ROLES: Mapping[str, Role] = {"training": "train", "testing": "test"}
PATIENT = re.compile(r"patient\d{3}")
TRAINING_PATIENTS = 100
INFO_BYTES = 1 << 16


def find(root: Path) -> Listing:
    """List the patients, under the official folders or under ``root`` itself.

    Which two frames are used is in ``Info.cfg``, read when a case is opened.
    """
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    bare = any(PATIENT.fullmatch(path.name) for path in root.glob("patient*"))
    for folder in [root] if bare else [folder for folder, _ in official_folders(root, ROLES, "ACDC")]:
        for patient in sorted(path for path in folder.iterdir() if path.is_dir()):
            if not PATIENT.fullmatch(patient.name):
                left_out.append(LeftOut(name=patient.name, reason="not a patient folder"))
                continue
            role: Role = "train" if int(patient.name.removeprefix("patient")) <= TRAINING_PATIENTS else "test"
            images = sorted(patient.glob("*.nii.gz"))
            frames = [path for path in images if re.fullmatch(rf"{patient.name}_frame\d\d\.nii\.gz", path.name)]
            files = (patient / "Info.cfg", *frames)
            entries.append(Entry(id=patient.name, subject=patient.name, role=role, files=files, root=root))
            left_out.extend(
                LeftOut(name=path.name, reason="segmentation or whole cine, not a frame to reconstruct")
                for path in images
                if path not in frames
            )
    return Listing(entries=tuple(entries), left_out=tuple(left_out))


def read_info(path: Path) -> dict[str, str]:
    """The fields of an ``Info.cfg``: ED, ES, Group, ..."""
    try:
        with open_regular(path) as file:
            lines = file.read(INFO_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}). It says which frames are ED and ES.") from error
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def chosen_frames(info: Path) -> tuple[Path, Path]:
    """The files of end diastole and end systole."""
    fields = read_info(info)
    patient = info.parent
    try:
        first, second = (patient / f"{patient.name}_frame{int(fields[key]):02d}.nii.gz" for key in ("ED", "ES"))
    except (KeyError, ValueError) as error:
        raise DataError(f"{info}: it needs ED and ES, two frame numbers; found the fields {sorted(fields)}.") from error
    return first, second


def open_case(entry: Entry) -> Case | LeftOut:
    """Check both frames of a patient and return the case."""
    files = chosen_frames(entry.files[0])
    first, second = (inspect(path) for path in files)
    shape, other = (found.array("image", axes=3, kinds="f").shape for found in (first, second))
    if shape[1:] != other[1:]:
        raise DataError(f"{files[1]}: ED is {shape[1:]} but ES is {other[1:]}; one patient has one grid.")
    return Case(
        id=entry.id,
        source=str(files[0].parent),
        image=Volume(
            shape=(shape[0] + other[0], *shape[1:]),
            read=partial(read_frames, files, (shape[0], other[0])),
            itemsize=4,
        ),
    )


def read_frames(files: tuple[Path, ...], lengths: tuple[int, ...], start: int, stop: int) -> NDArray[np.float32]:
    """Slices of several volumes laid end to end.

    Args:
        files: The volumes, in their order.
        lengths: The number of slices of each.
        start: The first slice, counted over all of them.
        stop: The slice after the last one.
    """
    parts = []
    offset = 0
    for path, length in zip(files, lengths, strict=True):
        first, last = max(start - offset, 0), min(stop - offset, length)
        if first < last:
            parts.append(read(path, "image", first, last))
        offset += length
    return np.concatenate(parts)
