"""Small files of arrays and facts: ``.npz`` without pickle, and JSON. No torch.

Such files may come from other people, so they are read under limits: what a member declares is compared with what is
wanted, and bounded, before anything is unpacked.
"""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.files.formats.npy import read_header
from somamba.files.formats.npz import open_member
from somamba.files.limits import check_unpacking
from somamba.regular_files import read_regular
from somamba.results.record import columns, leaves, nested

LARGEST_FILE = 1 << 30
"""Bytes of a file that is opened."""
LARGEST_ARRAY = 1 << 30
"""Bytes of all arrays of a file together: a case of 100 slices of 640 x 400 complex numbers has a fifth of it."""
LARGEST_TEXT = 1 << 22
"""Bytes of a JSON file or text."""

Facts = TypeVar("Facts")


class Wanted(NamedTuple):
    """What an array must be."""

    dtype: type
    axes: int
    optional: bool = False


TEXT = Wanted(np.str_, 0)
"""One text, stored as an array without axes."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a compressed ``.npz`` file in one piece; its comment names somamba."""
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = b"somamba"
    replace_file(path, content.getvalue())


def read_arrays(path: Path, wanted: Mapping[str, Wanted], *, writer: str) -> dict[str, NDArray[Any]]:
    """Read the wanted arrays of an ``.npz`` file; others are not touched.

    Args:
        path: The file.
        wanted: Type and number of axes of each array; an optional one may be missing.
        writer: The command that writes such files, for the message.

    Raises:
        InputError: the file is damaged, or an array is missing, too large or of another kind.
    """
    try:
        with io.BytesIO(read_regular(path, most=LARGEST_FILE)) as content, zipfile.ZipFile(content) as archive:
            known = set(archive.namelist())
            names = [name for name, one in wanted.items() if not one.optional or f"{name}.npy" in known]
            arrays: dict[str, NDArray[Any]] = {}
            for name in names:
                left = LARGEST_ARRAY - sum(array.nbytes for array in arrays.values())
                arrays[name] = _member(archive, name, wanted[name], left)
            return arrays
    except (OSError, EOFError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} was not written by {writer}, or is damaged: {error}. Write it anew.") from None


def write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Write names and values as a JSON file, in one piece."""
    replace_file(path, json.dumps(facts, indent=1, allow_nan=False, ensure_ascii=False).encode())


def read_facts(path: Path, kind: type[Facts], *, writer: str) -> Facts:
    """Read a JSON file that holds the columns of a record.

    Args:
        path: The file.
        kind: The record.
        writer: The command that writes such files, for the message.
    """
    try:
        return parse_facts(read_regular(path, most=LARGEST_TEXT), kind)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} was not written by {writer}, or is damaged: {error!r}. Write it anew.") from None


def parse_facts(text: str | bytes, kind: type[Facts], defaults: Mapping[str, Any] | None = None) -> Facts:
    """The record that a JSON text describes.

    Args:
        text: The JSON text.
        kind: The record.
        defaults: Values of columns that older files do not have.
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("it holds no names with values")
    found = {**(defaults or {}), **found}
    if unknown := found.keys() - columns(kind).keys():
        raise TypeError(f"{min(unknown)!r} is not known")
    return nested(kind, {name: _value(found[name], leaves(kind)[field].kind) for name, field in columns(kind).items()})


def _member(archive: zipfile.ZipFile, name: str, wanted: Wanted, left: int) -> NDArray[Any]:
    with open_member(archive, f"{name}.npy") as stream:
        shape, by_columns, dtype = read_header(stream)
        is_kind = dtype.kind == "U" if wanted.dtype is np.str_ else dtype == wanted.dtype
        if not is_kind or len(shape) != wanted.axes:
            raise ValueError(f"{name} must be {np.dtype(wanted.dtype)} with {wanted.axes} axes, it is {dtype} {shape}")
        size = dtype.itemsize * math.prod(shape)
        if size > (LARGEST_TEXT if dtype.kind == "U" else left):
            raise ValueError(f"{name} declares {size} bytes, which are too many")
        check_unpacking(size, archive.getinfo(f"{name}.npy").compress_size)
        content = stream.read(size)
    if len(content) != size:
        raise ValueError(f"{name} declares {size} bytes and has {len(content)}")
    return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if by_columns else "C")


def _value(value: Any, kind: object) -> Any:
    """JSON has no tuples and no types to rely on: lists become tuples, a value of another kind is refused."""
    if isinstance(value, int) and abs(value) >= 2**63:
        raise TypeError("it holds a whole number of more than 64 bits")
    if kind == tuple[float, ...]:
        return tuple(_value(item, float) for item in value)
    if kind is float and isinstance(value, int | float):
        return float(value)
    wanted = kind if isinstance(kind, type) else dict
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r:.100} is no {wanted.__name__}")
    return value
