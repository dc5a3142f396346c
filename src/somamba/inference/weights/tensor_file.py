"""What a safetensors file declares, read from its header alone: its size is known before any of it takes memory."""

import json
import math
import os
from pathlib import Path
from typing import NamedTuple

from somamba.errors import InputError
from somamba.regular_files import open_regular

LONGEST_HEADER = 1 << 24
"""Bytes of a header: 100,000 tensors have a tenth of it."""
MOST_BYTES = 1 << 36
"""Bytes of a file that is read: 64 GiB, eight times the largest network that is built."""
WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
WIDTHS |= {"I8": 1, "U8": 1, "BOOL": 1, "C64": 8}


class DeclaredTensor(NamedTuple):
    """One tensor, as the header describes it."""

    dtype: str
    """Type of its numbers, as the format writes it: ``F32``."""
    shape: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


def declared_tensors(path: Path) -> dict[str, DeclaredTensor]:
    """Read what a file declares; its own size must be the one that follows from it.

    Raises:
        InputError: it is no safetensors file, too large, or longer or shorter than it declares.
        OSError: it cannot be opened, or is no regular file.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(LONGEST_HEADER, size - 8):
            raise InputError(f"{path} is damaged: it is no safetensors file.")
        header = file.read(length)
    try:
        table = json.loads(header)
        table.pop("__metadata__", None)
        tensors = {name: _tensor(entry) for name, entry in table.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: its header cannot be read ({error!r:.100}).") from None
    wanted = 8 + length + sum(WIDTHS[one.dtype] * one.numbers for one in tensors.values())
    if size != wanted or size > MOST_BYTES:
        raise InputError(
            f"{path} is damaged: it has {size:,} bytes, its header declares {wanted:,}, and at most {MOST_BYTES:,} "
            "are read."
        )
    return tensors


def _tensor(entry: dict[str, object]) -> DeclaredTensor:
    dtype, shape = entry["dtype"], entry["shape"]
    if dtype not in WIDTHS or not isinstance(dtype, str):
        raise ValueError(f"unknown type {dtype!r:.20}")
    if not isinstance(shape, list) or any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"unknown shape {shape!r:.40}")
    return DeclaredTensor(dtype, tuple(shape))
