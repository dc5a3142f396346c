"""The process that opens files we did not write; `somamba.files.sandbox` starts it and sends it requests.

A parser fed a damaged file may crash, loop or ask for terabytes. Here it can only hurt this process, which has limits
of memory and of processor time. A request is one JSON line on a socket (standard input) and comes with a file
descriptor of shared memory; the answer is one JSON line, and the values are in the memory.
"""

import contextlib
import json
import logging
import math
import os
import resource
import signal
import socket
import struct
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError, ImageDataError
from nibabel.wrapstruct import WrapStructError
from numpy.typing import NDArray

from somamba.files.formats.cfl import inspect_cfl, read_cfl
from somamba.files.formats.dicom import inspect_dicom, is_dicom, read_dicom
from somamba.files.formats.hdf5 import inspect_hdf5, read_hdf5
from somamba.files.formats.kept_open import KEPT, identity
from somamba.files.formats.nifti import inspect_nifti, read_nifti
from somamba.files.formats.npy import Allocate, inspect_npy, read_npy
from somamba.files.formats.npz import inspect_npz, read_npz
from somamba.files.limits import PRIVATE_BYTES, READ_BYTES, RefusedError, cpu_seconds
from somamba.files.sandbox import map_array
from somamba.regular_files import check_regular

COMPLAINT_BYTES = 1 << 20
"""The most bytes this process may write to a file: its last message on standard error."""


RETAINED_BYTES = PRIVATE_BYTES // 8
"""Memory that may still be in use after a request; with more, this process leaves and another one takes over."""


class Format(NamedTuple):
    """How files of one kind are opened."""

    inspect: Callable[[str], dict[str, Any]]
    read: Callable[[str, str, int, int, Allocate], None]


FORMATS: Mapping[str, Format] = {
    ".h5": Format(inspect_hdf5, read_hdf5),
    ".hdf5": Format(inspect_hdf5, read_hdf5),
    ".mrd": Format(inspect_hdf5, read_hdf5),
    ".nii.gz": Format(inspect_nifti, read_nifti),
    ".nii": Format(inspect_nifti, read_nifti),
    ".npy": Format(inspect_npy, read_npy),
    ".npz": Format(inspect_npz, read_npz),
    ".cfl": Format(inspect_cfl, read_cfl),
    ".dcm": Format(inspect_dicom, read_dicom),
}

BROKEN = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, struct.error, zipfile.BadZipFile, zlib.error),
    *(ImageFileError, HeaderDataError, ImageDataError, WrapStructError),
)
"""What parsers throw at damaged files. Anything else ends this process, and the parent reports that."""


class Memory:
    """The shared memory of one request, and what was put into it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.facts: dict[str, Any] = {}

    def allocate(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
        """Room for the values of the answer."""
        array = map_array(self._handle, shape, dtype)
        self.facts = {"shape": list(shape), "dtype": dtype.str, "bytes": array.nbytes}
        return array


class Budget:
    """The processor time of this process: all requests about one file share what `cpu_seconds` gives them."""

    def __init__(self) -> None:
        self._file: Hashable = None
        self._begun = 0.0
        self._returned = 0

    def grant(self, path: str) -> None:
        """Let the system end this process when the file has used up its time."""
        if (file := identity(path)) != self._file:
            self._file, self._begun, self._returned = file, time.process_time(), 0
        facts = Path(path).stat()
        # A sparse file is as large as it claims to be, but not on the disk.
        limit = math.ceil(self._begun + cpu_seconds(min(facts.st_size, 512 * facts.st_blocks), self._returned))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))

    def note(self, returned: int) -> None:
        """Count what was returned."""
        self._returned += returned


def answer(request: Mapping[str, Any], handle: int, budget: Budget) -> dict[str, Any]:
    """Do what was asked, or say what is wrong with the file.

    Args:
        request: What the parent asks for.
        handle: The file descriptor of the memory for arrays.
        budget: What this process may use for one request.
    """
    path = request["path"]
    try:
        if (known := format_of(path)) is None:
            return {"error": f"its name ends in none of {', '.join(FORMATS)}"}
        if check_regular(path).st_size == 0:
            return {"error": "the file is empty"}
    except FileNotFoundError:
        return {"error": "there is no such file"}
    except OSError as error:
        return {"error": f"it cannot be read ({error.strerror})"}
    memory = Memory(handle)
    try:
        budget.grant(path)
        if request["do"] == "inspect":
            return known.inspect(path)
        known.read(path, request["name"], request["start"], request["stop"], memory.allocate)
        budget.note(memory.facts["bytes"])
        return memory.facts
    except RefusedError as reason:
        return {"error": str(reason)}
    except BROKEN as error:
        KEPT.close()
        return {"error": complaint(error)}


def format_of(path: str) -> Format | None:
    """How a file is opened, by its ending; scanners give DICOM files any name, so those are known by their mark."""
    by_name = next((FORMATS[suffix] for suffix in FORMATS if path.endswith(suffix)), None)
    return FORMATS[".dcm"] if by_name is None and is_dicom(path) else by_name


def complaint(error: BaseException) -> str:
    """What a parser's exception says about the file."""
    words = (str(error) or type(error).__name__).splitlines()[0][:200]
    if isinstance(error, MemoryError) or "alloc" in words:
        return f"reading it takes more than the {PRIVATE_BYTES >> 20} MiB of memory that are allowed"
    return f"it is damaged or not what its name says ({words})"


def limit_process() -> None:
    """Bound the memory of this process, as far as the system can."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (COMPLAINT_BYTES, COMPLAINT_BYTES))
        whole, private = memory_sizes()
        resource.setrlimit(resource.RLIMIT_DATA, (private + PRIVATE_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_AS, (whole + PRIVATE_BYTES + 2 * READ_BYTES,) * 2)


def memory_sizes() -> tuple[int, int]:
    """The address space of this process and its private part, in bytes; Linux only."""
    pages = [int(count) for count in Path("/proc/self/statm").read_text().split()]
    return pages[0] * resource.getpagesize(), pages[5] * resource.getpagesize()


def is_bloated() -> bool:
    """Whether libraries hold so much memory of earlier files that the next file would not have enough."""
    with contextlib.suppress(OSError):
        return memory_sizes()[1] > resource.getrlimit(resource.RLIMIT_DATA)[0] - PRIVATE_BYTES + RETAINED_BYTES
    return False


def receive(channel: socket.socket) -> tuple[dict[str, Any], int] | None:
    """The next request and its shared memory; None if the parent has gone."""
    line = b""
    handles: list[int] = []
    while not line.endswith(b"\n"):
        content, new, _, _ = socket.recv_fds(channel, 1 << 16, 1)
        if not content:
            return None
        line, handles = line + content, handles + new
    request: dict[str, Any] = json.loads(line)
    return request, handles[0]


def main() -> None:
    """Answer until the parent closes the socket."""
    # A signal to the whole group (Ctrl-C, a job's time limit) is for the parent to act on, which may still need this
    # file.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    limit_process()
    logging.disable()
    warnings.simplefilter("ignore")
    budget = Budget()
    with socket.socket(fileno=0) as channel:
        while (received := receive(channel)) is not None:
            request, handle = received
            try:
                facts = answer(request, handle, budget)
            finally:
                os.close(handle)
            leaving = is_bloated()
            channel.sendall(json.dumps({**facts, "leaving": leaving}).encode() + b"\n")
            if leaving:
                return


if __name__ == "__main__":
    main()
