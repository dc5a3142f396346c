"""fastMRI knee and brain, single- and multi-coil HDF5 (Zbontar et al. 2018).

``singlecoil_train/file1000001.h5`` with ``kspace`` (slices, y, x) or (slices, coils, y, x) complex64, centred, readout
(twice oversampled) along y and phase encoding along x; ``reconstruction_rss`` (slices, 320, 320); ``ismrmrd_header``;
the attribute ``acquisition``. The official test files are undersampled and have no target, so nothing can be measured
on them; like the methods it is compared with, the paper tests on the official validation files.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.data.readers.folders import official_folders
from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read
from somamba.raw.naming import stem

SINGLECOIL: Mapping[str, Role] = {"singlecoil_train": "train", "singlecoil_val": "test"}
MULTICOIL: Mapping[str, Role] = {"multicoil_train": "train", "multicoil_val": "test"}
PDFS = "CORPDFS_FBK"
"""Coronal proton density with fat suppression: the subset the paper uses."""


def find(root: Path, *, roles: Mapping[str, Role]) -> Listing:
    """List the files of the official folders."""
    entries = [
        Entry(id=stem(path.name), subject=stem(path.name), role=role, files=(path,), root=root)
        for folder, role in official_folders(root, roles, "fastMRI")
        for path in sorted(folder.glob("*.h5"))
    ]
    unlabelled = root / next(iter(roles)).replace("train", "test")
    left_out = [
        LeftOut(name=path.name, reason="official test file: undersampled, without a target")
        for path in sorted(unlabelled.glob("*.h5"))
    ]
    return Listing(entries=tuple(entries), left_out=tuple(left_out))


def open_case(entry: Entry, *, multicoil: bool, acquisition: str | None) -> Case | LeftOut:
    """Check one file and return its case; another acquisition than the wanted one is left out.

    Args:
        entry: The case by name.
        multicoil: Whether k-space has a coil axis.
        acquisition: The acquisition that is wanted; None for any.
    """
    (path,) = entry.files
    info = inspect(path)
    if acquisition is not None:
        found = info.texts.get("acquisition")
        if found is None:
            raise DataError(f"{path}: no attribute 'acquisition', so whether it is {acquisition} cannot be told.")
        if found != acquisition:
            return LeftOut(name=entry.id, reason=f"acquisition {found}, not {acquisition}")
    if "mask" in info.arrays:
        raise DataError(f"{path}: it holds a sampling 'mask', as only undersampled test files do.")
    kspace = info.array("kspace", axes=4 if multicoil else 3, kinds="c")
    target = info.array("reconstruction_rss", axes=3, kinds="f")
    shape = kspace.shape if multicoil else (kspace.shape[0], 1, *kspace.shape[1:])
    return Case(
        id=entry.id,
        source=str(path),
        kspace=Volume(shape=shape, read=partial(read_kspace, path)),
        image=Volume(shape=target.shape, read=partial(read_image, path), itemsize=4),
    )


def read_kspace(path: Path, start: int, stop: int) -> NDArray[np.complex64]:
    """Slices of k-space, with a coil axis.

    Args:
        path: The HDF5 file.
        start: The first slice.
        stop: The slice after the last one.
    """
    kspace = read(path, "kspace", start, stop).astype(np.complex64, copy=False)
    return kspace if kspace.ndim == 4 else kspace[:, None]


def read_image(path: Path, start: int, stop: int) -> NDArray[np.float32]:
    """Slices of the root-sum-of-squares images.

    Args:
        path: The HDF5 file.
        start: The first slice.
        stop: The slice after the last one.
    """
    return read(path, "reconstruction_rss", start, stop).astype(np.float32, copy=False)
