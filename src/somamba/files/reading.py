"""Reads files we did not write through a child process (`somamba.files.reader_process`) with a deadline.

A damaged or hostile file costs that child at most; here it is a `DataError` with the name of the file.
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError

DEADLINE_SECONDS = 60.0
"""For one request; readings are at most some 64 MiB, so even a slow network disk answers sooner."""
ANSWER_BYTES = 1 << 30
"""What we allocate for one answer, however much the child claims."""


class ArrayInfo(NamedTuple):
    """What a file declares about one of its arrays."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"


@dataclass(frozen=True)
class FileInfo:
    """The table of contents of one file."""

    path: Path
    arrays: Mapping[str, ArrayInfo]
    texts: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Members that must not be read, and why."""
    voxel: tuple[float, ...] | None = None
    """Voxel size in mm, in the order of the axes."""
    affine: tuple[tuple[float, ...], ...] | None = None
    """From the indices of a NIfTI image, ``(x, y, z)``, to mm: right, anterior, superior."""

    def array(self, name: str, *, axes: int, kinds: str) -> ArrayInfo:
        """What is declared for one array, or a `DataError` when it is missing or of another make."""
        if name in self.refused:
            raise DataError(f"{self.path}: {self.refused[name]}. Such files are not read.")
        if name not in self.arrays:
            raise DataError(f"{self.path}: no array {name!r}; found {', '.join(self.arrays) or 'none'}.")
        info = self.arrays[name]
        if len(info.shape) != axes or info.dtype.kind not in kinds:
            raise DataError(
                f"{self.path}: {name!r} should have {axes} axes and type {' or '.join(KINDS[kind] for kind in kinds)}; "
                f"it has shape {info.shape} and type {info.dtype}."
            )
        return info


KINDS = {"f": "float", "c": "complex", "i": "integer", "u": "unsigned integer"}


def inspect(path: Path) -> FileInfo:
    """Read the table of contents of an HDF5, NIfTI, NumPy or BART file."""
    header, _ = _process().ask({"do": "inspect", "path": str(path.absolute())})
    arrays = {
        name: ArrayInfo(tuple(array["shape"]), np.dtype(array["dtype"])) for name, array in header["arrays"].items()
    }
    voxel = tuple(header["voxel"]) if "voxel" in header else None
    affine = tuple(tuple(row) for row in header["affine"]) if "affine" in header else None
    return FileInfo(path, arrays, header.get("texts", {}), header.get("refused", {}), voxel, affine)


def read(path: Path, name: str, start: int, stop: int) -> NDArray[Any]:
    """Read rows ``start`` to ``stop`` (exclusive) of one array; they are finite."""
    request = {"do": "read", "path": str(path.absolute()), "name": name, "start": int(start), "stop": int(stop)}
    _, array = _process().ask(request)
    if array is None:
        raise DataError(f"{path}: the reading process sent no values for {name!r}.")
    if not np.isfinite(array).all():
        raise DataError(f"{path}: {name!r} holds NaN or infinity between rows {start} and {stop}.")
    return array


class ReadingProcess:
    """The child, started at the first question and again after it had to be ended."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], NDArray[Any] | None]:
        """Send one request; return the header and the array of the answer."""
        path = request["path"]
        with self._lock:
            child = self._started()
            expired = threading.Event()

            def expire() -> None:
                expired.set()
                child.kill()

            timer = threading.Timer(DEADLINE_SECONDS, expire)
            timer.start()
            try:
                header, array = self._exchange(child, request)
            except (OSError, ValueError, KeyError, TypeError) as error:
                reason = self._end(expired=expired.is_set())
                raise DataError(f"{path}: {reason}. The file is damaged, or was made to do harm.") from error
            except BaseException:
                # Interrupted between question and answer: the next answer would be taken for this one.
                self._end(expired=False)
                raise
            finally:
                timer.cancel()
        if "error" in header:
            raise DataError(f"{path}: {header['error']}.")
        return header, array

    @staticmethod
    def _exchange(
        child: "subprocess.Popen[bytes]", request: Mapping[str, Any]
    ) -> tuple[dict[str, Any], NDArray[Any] | None]:
        if child.stdin is None or child.stdout is None:
            raise OSError("no pipe to the reading process")
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        header = json.loads(child.stdout.readline())
        if "bytes" not in header:
            return header, None
        if not 0 < header["bytes"] <= ANSWER_BYTES:
            raise ValueError("implausible answer")
        values = np.empty(header["bytes"], dtype=np.uint8)
        if cast(BufferedReader, child.stdout).readinto(values.data) != values.size:
            raise OSError("answer cut short")
        return header, values.view(np.dtype(header["dtype"])).reshape(header["shape"])

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._child is None or self._child.poll() is not None:
            # The child must find this very package, however the parent found it.
            search = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._complaints = tempfile.TemporaryFile()  # noqa: SIM115, closed with the child
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "somamba.files.reader_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, search))},
            )
            atexit.register(self.close)
        return self._child

    def _end(self, *, expired: bool) -> str:
        """Make sure the child is gone and say why it had to go."""
        code, complaint = self._stop()
        if expired:
            return f"reading it took longer than {DEADLINE_SECONDS:g} s"
        if code < 0 and code != -signal.SIGKILL:
            return f"reading it crashed the reading process ({signal.Signals(-code).name})"
        return f"the reading process gave up ({complaint or 'it was killed'})"

    def _stop(self) -> tuple[int, str]:
        """End the child; its exit code and the last line it wrote on standard error."""
        child, complaints = self._child, self._complaints
        self._child = self._complaints = None
        if child is None or complaints is None:
            return 0, ""
        child.kill()
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            # A request that was never sent cannot be flushed any more.
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        with complaints:
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").strip().splitlines()
        return code, lines[-1] if lines else ""

    def close(self) -> None:
        """End the child; the next question starts another."""
        with self._lock:
            self._stop()
        atexit.unregister(self.close)


_PROCESSES: dict[int, ReadingProcess] = {}


def _process() -> ReadingProcess:
    """One child per process: a forked worker must not share the pipes of its parent."""
    if os.getpid() not in _PROCESSES:
        _PROCESSES[os.getpid()] = ReadingProcess()
    return _PROCESSES[os.getpid()]
