"""The process that opens files we did not write; `somamba.files.reading` starts it and sends it requests.

A parser fed a damaged file may crash, hang or ask for terabytes. Here it can only hurt this process, which has a memory
limit and a parent that kills it at a deadline. One JSON request per line on standard input; the answer is one JSON
line, followed by the bytes of the array where one was asked for.
"""

import contextlib
import json
import logging
import signal
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.nifti1 import Nifti1Image
from nibabel.spatialimages import HeaderDataError, ImageDataError
from nibabel.wrapstruct import WrapStructError
from numpy.typing import NDArray

from somamba.files.cfl import inspect_cfl, read_cfl
from somamba.files.ismrmrd import declared_heads, is_acquisitions, read_heads, read_readouts
from somamba.files.limits import (
    MEMBERS,
    MEMORY_BYTES,
    NUMBERS,
    READ_BYTES,
    TEXT_CHARACTERS,
    Answer,
    RefusedError,
    array_answer,
    check_array,
    check_rows,
    declared,
)
from somamba.files.npz import inspect_npz, read_npz

TEXTS = ("ismrmrd_header", "provenance")
ATTRIBUTES = ("acquisition", "patient_id")
"""Allow-list: nothing else of a file's metadata leaves this process, so nothing else can end up in a log."""
COMMENT, OURS = 6, b'{"somamba": '
"""The code of comments in NIfTI headers, and how ours start."""
FILTERS = {1, 2, 3, 4, 5, 6, 32000}
"""deflate, shuffle, fletcher32, szip, nbit, scale-offset, lzf: what h5py has built in. Others would load plugins."""


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
    if dataset.dtype.kind in NUMBERS:
        check_array(dataset.shape, dataset.dtype)
    if dataset.chunks and dataset.dtype.itemsize * int(np.prod(dataset.chunks, dtype=object)) > READ_BYTES:
        raise RefusedError(f"{name!r} has chunks of shape {dataset.chunks}")
    return dataset


def check_links(file: h5py.File, name: str) -> None:
    """Refuse a member that is reached through a soft or external link."""
    parts = name.split("/")
    for depth in range(1, len(parts) + 1):
        if not isinstance(file.get("/".join(parts[:depth]), getlink=True), h5py.HardLink):
            raise RefusedError(f"{name!r} is a link, which could lead to another file")


def text(value: Any) -> str:
    """The string in an HDF5 attribute or scalar, whichever way it was stored."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        value = value.decode()
    if not isinstance(value, str | int | float | np.integer | np.floating):
        raise RefusedError(f"a text was expected, not {type(value).__name__}")
    if len(str(value)) > TEXT_CHARACTERS:
        raise RefusedError("a text is longer than a MiB")
    return str(value)


def inspect_hdf5(path: str) -> Answer:
    """Arrays, allow-listed texts, and the members that were refused."""
    arrays: dict[str, Any] = {}
    texts: dict[str, str] = {}
    refused: dict[str, str] = {}
    with h5py.File(path, "r", locking="best-effort") as file:
        for name in islice(file, MEMBERS):
            try:
                if group := acquisition_group(file, name):
                    arrays[f"{name}/head"], texts[f"{name}/xml"] = group
                    continue
                dataset = hdf5_array(file, name)
            except RefusedError as reason:
                refused[name] = str(reason)
                continue
            if dataset.dtype.kind in NUMBERS:
                arrays[name] = {"shape": list(dataset.shape), "dtype": dataset.dtype.str}
            elif name in TEXTS and dataset.shape in ((), (1,)):
                texts[name] = text(dataset[()])
        texts.update({name: text(file.attrs[name]) for name in ATTRIBUTES if name in file.attrs})
    return Answer({"arrays": arrays, "texts": texts, "refused": refused})


def acquisition_group(file: h5py.File, name: str) -> tuple[dict[str, Any], str] | None:
    """What a group of ISMRMRD acquisitions declares, and its header; None for anything else."""
    check_links(file, name)
    if not isinstance(file[name], h5py.Group) or not {"data", "xml"} <= set(islice(file[name], MEMBERS)):
        return None
    data, xml = (hdf5_array(file, f"{name}/{member}") for member in ("data", "xml"))
    if not is_acquisitions(data) or xml.shape not in ((), (1,)):
        return None
    return declared_heads(data), text(xml[()])


def read_hdf5(path: str, name: str, start: int, stop: int) -> Answer:
    """Rows of one dataset; of ISMRMRD acquisitions, the heads or the readouts."""
    with h5py.File(path, "r", locking="best-effort") as file:
        if name.endswith("/head"):
            return array_answer(read_heads(hdf5_array(file, name.removesuffix("head") + "data"), start, stop))
        dataset = hdf5_array(file, name)
        if is_acquisitions(dataset):
            return array_answer(read_readouts(dataset, start, stop))
        if dataset.dtype.kind not in NUMBERS:
            raise RefusedError(f"{name!r} is no array of numbers")
        check_rows(dataset.shape, dataset.dtype.itemsize, start, stop)
        return array_answer(dataset[start:stop])


def open_nifti(path: str) -> Any:
    """A NIfTI-1 image whose declared size was checked; nothing of its voxels is read yet."""
    image: Any = Nifti1Image.from_filename(path)
    check_array(image.shape, image.get_data_dtype())
    if image.get_data_dtype().kind == "c":
        raise RefusedError("complex NIfTI images are not magnitudes")
    return image


def inspect_nifti(path: str) -> Answer:
    """The one array of the file, slices first, and its voxel size in the same order."""
    image = open_nifti(path)
    zooms = [float(zoom) for zoom in image.header.get_zooms()[::-1]]
    arrays = {"image": {"shape": list(image.shape[::-1]), "dtype": "<f4"}}
    affine = np.asarray(image.affine, dtype=float).tolist()
    return Answer({"arrays": arrays, "texts": nifti_texts(image), "voxel": zooms, "affine": affine})


def nifti_texts(image: Any) -> dict[str, str]:
    """The provenance that our own writer puts into a comment; other comments may name patients."""
    comments = (bytes(e.get_content()) for e in image.header.extensions if e.get_code() == COMMENT)
    ours = next((comment for comment in comments if comment.startswith(OURS)), None)
    return {} if ours is None else {"provenance": text(ours.rstrip(b"\0"))}


def read_nifti(path: str, name: str, start: int, stop: int) -> Answer:
    """Slices of the image as float32, axes reversed from NIfTI's ``(x, y, z)`` to ``(z, y, x)``."""
    if name != "image":
        raise RefusedError(f"a NIfTI file has one array, 'image', not {name!r}")
    image = open_nifti(path)
    # Integers are scaled in double precision on the way to float32.
    check_rows(image.shape[::-1], 8, start, stop)
    return array_answer(np.asarray(image.dataobj[..., start:stop]).T.astype(np.float32))


def open_npy(path: str) -> NDArray[Any]:
    """A mapped array; without pickles, so that opening it runs nothing."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise RefusedError("it is an archive of several arrays, not one .npy array")
    check_array(array.shape, array.dtype)
    return array


def inspect_npy(path: str) -> Answer:
    """The one array of the file."""
    array = open_npy(path)
    return Answer({"arrays": {"array": declared(array)}})


def read_npy(path: str, name: str, start: int, stop: int) -> Answer:
    """Rows of the array."""
    if name != "array":
        raise RefusedError(f"a .npy file has one array, 'array', not {name!r}")
    array = open_npy(path)
    check_rows(array.shape, array.dtype.itemsize, start, stop)
    return array_answer(array[start:stop])


class Format(NamedTuple):
    """How files of one kind are opened."""

    inspect: Callable[[str], Answer]
    read: Callable[[str, str, int, int], Answer]


FORMATS: Mapping[str, Format] = {
    ".h5": Format(inspect_hdf5, read_hdf5),
    ".hdf5": Format(inspect_hdf5, read_hdf5),
    ".mrd": Format(inspect_hdf5, read_hdf5),
    ".nii.gz": Format(inspect_nifti, read_nifti),
    ".nii": Format(inspect_nifti, read_nifti),
    ".npy": Format(inspect_npy, read_npy),
    ".npz": Format(inspect_npz, read_npz),
    ".cfl": Format(inspect_cfl, read_cfl),
}

BROKEN = (
    *(
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ),
    *(struct.error, zipfile.BadZipFile, zlib.error),
    *(ImageFileError, HeaderDataError, ImageDataError, WrapStructError),
)
"""What parsers throw at damaged files. Anything else ends this process, and the parent reports that."""


def answer(request: Mapping[str, Any]) -> Answer:
    """Do what was asked, or say what is wrong with the file."""
    path = request["path"]
    known = next((FORMATS[suffix] for suffix in FORMATS if path.endswith(suffix)), None)
    if known is None:
        return Answer({"error": f"its name ends in none of {', '.join(FORMATS)}"})
    try:
        if not Path(path).is_file():
            return Answer({"error": "there is no such file"})
        if request["do"] == "inspect":
            return known.inspect(path)
        return known.read(path, request["name"], request["start"], request["stop"])
    except RefusedError as reason:
        return Answer({"error": str(reason)})
    except BROKEN as error:
        what = (str(error) or type(error).__name__).splitlines()[0][:200]
        return Answer({"error": f"it is damaged or not what its name says ({what})"})


def limit_memory() -> None:
    """Bound this process, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    """Answer until standard input is closed."""
    # A signal to the whole group (Ctrl-C, a job's time limit) is the parent's to act on: it may want this file first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    limit_memory()
    logging.disable()
    warnings.simplefilter("ignore")
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        header, array = answer(json.loads(line))
        out.write(json.dumps(header).encode() + b"\n")
        if array is not None:
            out.write(array.reshape(-1).view(np.uint8).data)
        out.flush()


if __name__ == "__main__":
    main()
