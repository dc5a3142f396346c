"""One writer for a folder: a lock that the system releases when its process ends, however it ends."""

import errno
import json
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from somamba.errors import InputError, StorageError

try:
    import fcntl
except ImportError:  # Not on Windows.
    fcntl = None  # type: ignore[assignment]

NAME = ".lock"
_log = logging.getLogger(__name__)
_held: set[int] = set()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Inside, no other process can lock the same folder; it is made if it is not there.

    The lock is `flock` on a file in the folder, which is removed at the end, as is the folder if it is then empty.

    Raises:
        InputError: another process holds the lock; the message names it.
    """
    if fcntl is None:
        _log.warning("%s cannot be locked on this system: start no second process that writes there", folder)
        yield
        return
    handle = _lock(folder)
    _held.add(handle)
    try:
        _sign(handle, folder / NAME)
        yield
    finally:
        # Removed while it is still locked: a process that opened it before finds that it has no name any more.
        with suppress(OSError):
            (folder / NAME).unlink()
        _held.discard(handle)
        os.close(handle)
        with suppress(OSError):
            folder.rmdir()


def _lock(folder: Path) -> int:
    """Open and lock the file; once more if its holder removed it, or the folder, in between."""
    path = folder / NAME
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"{path} could not be written: {error.strerror}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except FileNotFoundError:
            pass
        except OSError as error:
            holder = _holder(handle)
            os.close(handle)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise InputError(
                    f"{folder} is in use by {holder}, which is still running. Wait for it or stop it; to train beside "
                    "it, give another --output."
                ) from None
            raise StorageError(f"{folder} cannot be locked: {error.strerror}.") from error
        os.close(handle)


def _sign(handle: int, path: Path) -> None:
    """Write into the locked file who holds it."""
    try:
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"process": os.getpid(), "host": platform.node()}).encode())
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}.") from error


def _holder(handle: int) -> str:
    """The process that holds the lock, as it described itself."""
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(found['process'])} on {found['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _forget() -> None:
    """Close the locks of the parent in a forked child, so that they end with the parent."""
    for handle in _held:
        with suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
