"""HDF5 files for the reading process: fastMRI's layout and ISMRMRD. Nothing outside the file is ever opened."""

from collections.abc import Callable
from functools import partial
from typing import Any

import h5py
import numpy as np

from somamba.files.formats.ismrmrd import declared_heads, is_acquisitions, read_heads, read_readouts
from somamba.files.formats.npy import Allocate
from somamba.files.formats.texts import Texts
from somamba.files.limits import (
    NUMBERS,
    READ_BYTES,
    TEXT_CHARACTERS,
    RefusedError,
    check_array,
    check_members,
    check_rows,
    check_unpacking,
    n_bytes,
)

TEXTS = ("ismrmrd_header", "provenance")
ATTRIBUTES = ("acquisition", "patient_id")
"""Allow-list: nothing else of a file's metadata leaves this process, so nothing else can end up in a log."""
FILTERS = {1, 2, 3, 4, 5, 6, 32000}
"""deflate, shuffle, fletcher32, szip, nbit, scale-offset, lzf: what h5py has built in. Others would load plugins."""


def inspect_hdf5(path: str) -> dict[str, Any]:
    """Arrays, allow-listed texts, and the members that were refused."""
    contents = Contents()
    with h5py.File(path, "r", locking="best-effort") as file:
        check_members(len(file))
        for name in file:
            contents.attempt(name, partial(contents.add_member, file, name))
        for name in ATTRIBUTES:
            if name in file.attrs:
                contents.attempt(name, partial(contents.add_attribute, file, name))
    return {"arrays": contents.arrays, "texts": contents.texts.kept, "refused": contents.refused}


class Contents:
    """What was found in a file."""

    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, Any]] = {}
        self.texts = Texts()
        self.refused: dict[str, str] = {}

    def attempt(self, name: str, add: Callable[[], None]) -> None:
        """Add something, or remember why it must not be read."""
        try:
            add()
        except RefusedError as reason:
            self.refused[name] = str(reason)

    def add_member(self, file: h5py.File, name: str) -> None:
        """Add an array, a text, or a group of ISMRMRD acquisitions."""
        check_links(file, name)
        if isinstance(file[name], h5py.Group) and {"data", "xml"} <= set(file[name]):
            self.attempt(f"{name}/head", partial(self.add_acquisitions, file, name))
            return
        dataset = hdf5_array(file, name)
        if name in TEXTS:
            self.texts.keep(name, read_text(dataset, name))
        elif dataset.dtype.kind in NUMBERS:
            self.arrays[name] = {"shape": list(dataset.shape), "dtype": dataset.dtype.str}
        else:
            raise RefusedError(f"{name!r} has type {dataset.dtype}, which is not a number")

    def add_acquisitions(self, file: h5py.File, name: str) -> None:
        """Add what a group of ISMRMRD acquisitions declares, and its header."""
        data, xml = (hdf5_array(file, f"{name}/{member}") for member in ("data", "xml"))
        if not is_acquisitions(data):
            raise RefusedError(f"'{name}/data' is not a list of ISMRMRD acquisitions")
        self.texts.keep(f"{name}/xml", read_text(xml, f"{name}/xml"))
        self.arrays[f"{name}/head"] = declared_heads(data)

    def add_attribute(self, file: h5py.File, name: str) -> None:
        """Add an attribute of the file."""
        self.texts.keep(name, read_text(file.attrs.get_id(name), name, lambda: file.attrs[name]))


def read_text(stored: Any, name: str, read: Callable[[], Any] | None = None) -> Any:
    """The value of a dataset or attribute that holds one text or number; its size is checked before it is read.

    Args:
        stored: The dataset or attribute.
        name: Its name, for the message.
        read: Reads its value; None if indexing does.
    """
    if stored.shape not in ((), (1,)):
        raise RefusedError(f"{name!r} should be one text, it has shape {stored.shape}")
    is_text = h5py.check_string_dtype(stored.dtype) is not None
    if not is_text and stored.dtype.kind not in NUMBERS:
        raise RefusedError(f"{name!r} should be a text, it has type {stored.dtype}")
    if stored.dtype.itemsize > 4 * TEXT_CHARACTERS:
        raise RefusedError(f"{name!r} is a text of {stored.dtype.itemsize:,} bytes")
    return stored[()] if read is None else read()


def hdf5_array(file: h5py.File, name: str) -> h5py.Dataset:
    """A dataset stored in this very file: no link, no external storage, no virtual view of other files."""
    check_links(file, name)
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset):
        raise RefusedError(f"{name!r} is not an array")
    if dataset.external or dataset.is_virtual:
        raise RefusedError(f"{name!r} stores its values in other files")
    plist = dataset.id.get_create_plist()
    if unknown := {plist.get_filter(i)[0] for i in range(plist.get_nfilters())} - FILTERS:
        raise RefusedError(f"{name!r} needs HDF5 filters {sorted(unknown)}")
    if dataset.chunks and n_bytes(dataset.chunks, dataset.dtype.itemsize) > READ_BYTES:
        raise RefusedError(f"{name!r} has chunks of shape {dataset.chunks}")
    if dataset.dtype.kind in NUMBERS and name not in TEXTS:
        check_array(dataset.shape, dataset.dtype)
        check_unpacking(n_bytes(dataset.shape, dataset.dtype.itemsize), dataset.id.get_storage_size())
    return dataset


def check_links(file: h5py.File, name: str) -> None:
    """Refuse a member that is reached through a soft or external link."""
    parts = name.split("/")
    for depth in range(1, len(parts) + 1):
        if not isinstance(file.get("/".join(parts[:depth]), getlink=True), h5py.HardLink):
            raise RefusedError(f"{name!r} is a link, which could lead to another file")


def read_hdf5(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read rows of one dataset; of ISMRMRD acquisitions, the heads or the readouts.

    Args:
        path: The HDF5 file.
        name: The name of the dataset.
        start: The first row.
        stop: The row after the last one.
        allocate: Gives the memory for the answer.
    """
    with h5py.File(path, "r", locking="best-effort") as file:
        if name.endswith("/head"):
            read_heads(hdf5_array(file, name.removesuffix("head") + "data"), start, stop, allocate)
            return
        dataset = hdf5_array(file, name)
        if is_acquisitions(dataset):
            read_readouts(dataset, start, stop, allocate)
            return
        if dataset.dtype.kind not in NUMBERS:
            raise RefusedError(f"{name!r} is no array of numbers")
        check_rows(dataset.shape, dataset.dtype.itemsize, start, stop)
        native: np.dtype[Any] = np.dtype(dataset.dtype.newbyteorder("="))
        rows = allocate((stop - start, *dataset.shape[1:]), native)
        dataset.read_direct(rows, np.s_[start:stop])
