"""The parent's side of the reading process (`somamba.files.reader_process`): starts it, asks it, notices its end.

The reading process writes arrays into memory that both share, so that none is copied between them.

No wall clock decides whether a file is sound: the system ends the reading process when a file has used up its
processor time, and a machine under load only makes the answer later.
"""

import atexit
import contextlib
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.limits import READ_BYTES

PATIENCE_SECONDS = 900.0
"""How long an answer may take. Only a disk that does not answer takes so long, so no file is blamed for it."""
ANSWER_BYTES = 1 << 24
"""The longest answer without its values."""
COMPLAINT_BYTES = 1 << 16
COPIED_BYTES = 1 << 23
"""Smaller arrays are copied: every mapping keeps a file descriptor open, and a program may hold thousands of them."""
BLAMED = "The file is damaged, or was made to do harm"
CRASHES = {getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS")}

Answer = tuple[dict[str, Any], NDArray[Any] | None]


class Sandbox:
    """A reading process; it is started when it is needed, and again after its end."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._complaints: IO[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """Send one request; return the facts and the array of the answer."""
        path = request["path"]
        if not hasattr(socket, "send_fds"):
            raise DataError(
                f"{path}: reading files needs a protected process, which Windows cannot give. Use WSL there, or hand "
                "over arrays: somamba.load().reconstruct(kspace)."
            )
        with self._lock:
            try:
                channel, memory = self._started(), allocate()
            except OSError as error:
                raise DataError(
                    f"{path}: the process and the shared memory to read it could not be had ({error.strerror})."
                ) from error
            try:
                facts, array = _exchange(channel, request, memory)
            except TimeoutError as error:
                self._stop()
                raise DataError(
                    f"{path}: no answer for {PATIENCE_SECONDS:g} s. Its disk may not respond; try again later."
                ) from error
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise DataError(f"{path}: {self._end()}.") from error
            except BaseException:
                # Interrupted between question and answer: the next answer would be taken for this one.
                self._stop()
                raise
            finally:
                os.close(memory)
            if facts["leaving"]:
                self._stop()
        if "error" in facts:
            raise DataError(f"{path}: {facts['error']}.")
        return facts, array

    def _started(self) -> socket.socket:
        if self._child is not None and self._channel is not None and self._child.poll() is None:
            return self._channel
        self._stop()
        # The child must find this very package, however the parent found it.
        search = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        ours, theirs = socket.socketpair()
        with theirs:
            self._complaints = tempfile.TemporaryFile()  # noqa: SIM115, closed with the child
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "somamba.files.reader_process"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, search))},
            )
        self._channel = ours
        atexit.register(self.close)
        return ours

    def _end(self) -> str:
        """Make sure that the child has ended, and return the reason."""
        code, complaint = self._stop()
        if code == -signal.SIGXCPU:
            return f"reading it takes more processor time than a file of its size may. {BLAMED}"
        if -code in CRASHES:
            return f"reading it crashed the reading process ({signal.Signals(-code).name}). {BLAMED}"
        if code < 0:
            return (
                f"the reading process was ended from outside ({signal.Signals(-code).name}), perhaps because the "
                "machine ran out of memory. Try again"
            )
        return f"the reading process gave up ({complaint or 'without a word'})"

    def _stop(self) -> tuple[int, str]:
        """End the child; return its exit code and the last line that it wrote on standard error."""
        child, channel, complaints = self._child, self._channel, self._complaints
        self._child = self._channel = self._complaints = None
        if channel is not None:
            channel.close()
        if child is None:
            return 0, ""
        # The child may be about to end: its exit code, which follows its last answer, says why.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=1)
        child.kill()
        code = child.wait()
        if complaints is None:
            return code, ""
        with complaints:
            complaints.seek(0)
            lines = complaints.read(COMPLAINT_BYTES).decode(errors="replace").strip().splitlines()
        return code, lines[-1] if lines else ""

    def close(self) -> None:
        """End the child; the next request starts another."""
        with self._lock:
            self._stop()
        atexit.unregister(self.close)


def _exchange(channel: socket.socket, request: Mapping[str, Any], memory: int) -> Answer:
    channel.settimeout(PATIENCE_SECONDS)
    line = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(channel, [line], [memory])
    channel.sendall(line[sent:])
    facts = json.loads(_receive_line(channel))
    if "bytes" not in facts:
        return facts, None
    return facts, taken_array(memory, tuple(facts["shape"]), np.dtype(facts["dtype"]))


def _receive_line(channel: socket.socket) -> bytes:
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = channel.recv(1 << 16)
        if not part or len(parts) * (1 << 16) > ANSWER_BYTES:
            raise OSError("the answer is cut short or too long")
        parts.append(part)
    return b"".join(parts)


_SANDBOXES: dict[int, Sandbox] = {}


def sandbox() -> Sandbox:
    """The reading process of this process: a forked worker must not share the socket of its parent."""
    if os.getpid() not in _SANDBOXES:
        _SANDBOXES[os.getpid()] = Sandbox()
    return _SANDBOXES[os.getpid()]


def allocate() -> int:
    """A file descriptor of memory for one answer. Pages are taken when they are written, so it costs nothing yet."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), READ_BYTES)
            return os.dup(file.fileno())
    import fcntl  # not on Windows, where this line is never reached

    handle = os.memfd_create("somamba", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(handle, READ_BYTES)
    # The size is final: if the reading process shortened it, touching the mapping would end the parent.
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return handle


def map_array(handle: int, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """The memory as an array that can be written; it stays mapped as long as the array lives.

    Args:
        handle: The file descriptor of the memory.
        shape: The shape of the array.
        dtype: The type of its values.
    """
    size = dtype.itemsize * int(np.prod(shape, dtype=object))
    if not 0 < size <= READ_BYTES:
        raise ValueError(f"an array of {size} bytes does not fit into {READ_BYTES}")
    return np.frombuffer(mmap.mmap(handle, size), dtype=dtype).reshape(shape)


def taken_array(handle: int, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """The array that the reading process left in the memory; small ones are copied, large ones stay where they are.

    Args:
        handle: The file descriptor of the memory.
        shape: The shape of the array.
        dtype: The type of its values.
    """
    array = map_array(handle, shape, dtype)
    return array.copy() if array.nbytes <= COPIED_BYTES else array
