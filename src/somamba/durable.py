"""Files and folders that are replaced whole: a kill or a full disk leaves the old one or the new one, never half.

Contents go to a hidden sibling, are flushed to the disk, and get their name by a rename. A folder cannot be renamed
onto another, so the old one is renamed first; `current` finds it there when a kill falls between the two renames.

If several processes may write the same name at once (``shared``), as when a job is repeated although its first worker
still runs, every process has a sibling of its own, and the first to finish wins.
"""

import errno
import glob
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from somamba.errors import StorageError

# What a kernel says when there is no room: disk full, quota used up, file size limit.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PIECE = 1 << 20


def replace_file(path: Path, *content: bytes | memoryview, shared: bool = False) -> None:
    """Give a file new content in one step.

    Args:
        path: The file.
        content: Its new bytes; several parts are written one after the other.
        shared: Whether other processes may write the same file at the same time.
    """
    new = _sibling(path, _role(shared))
    with _explained(path, sum(memoryview(part).nbytes for part in content), new):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(new, *content)
        new.replace(path)
        flush_folder(path.parent)
        _remove_left_over(path, shared)


def replace_folder(folder: Path, files: Mapping[str, bytes], *, shared: bool = False) -> None:
    """Give a folder new files in one step; whatever it held before is gone.

    Args:
        folder: The folder.
        files: The content of its files by name.
        shared: Whether other processes may write the same folder at the same time.
    """
    new, old = _sibling(folder, _role(shared)), _sibling(folder, "old")
    with _explained(folder, sum(map(len, files.values())), new):
        _undo_half_swap(folder, old)
        _remove(new)
        new.mkdir(parents=True)
        for name, content in files.items():
            _write(new / name, content)
        flush_folder(new)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        flush_folder(folder.parent)
        _remove(old)
        _remove_left_over(folder, shared)


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made, or in which no file can be made."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise StorageError(f"{str(folder)!r} cannot be written: {str(there)!r} is not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise StorageError(f"{str(folder)!r} cannot be written: {str(there)!r} is not writable.")


def current(folder: Path) -> Path:
    """The place of the last complete version of a folder; nothing is changed."""
    if not folder.name:  # "." has no sibling
        return folder
    old = _sibling(folder, "old")
    return old if old.is_dir() and not folder.exists() else folder


def _write(path: Path, *content: bytes | memoryview) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o644)
    try:
        for part in content:
            left = memoryview(part).cast("B")
            while left:
                left = left[os.write(handle, left[:PIECE]) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last: a file that was renamed keeps its new name through a power cut."""
    if os.name == "nt":  # Windows opens no folders, and keeps names without being asked.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _undo_half_swap(folder: Path, old: Path) -> None:
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    _remove(old)


def _role(shared: bool) -> str:
    return f"~{platform.node()}-{os.getpid()}.new" if shared else "new"


def _remove_left_over(path: Path, shared: bool) -> None:
    """Remove what killed processes left; a living one fails to rename what it made, and the first result stays."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.~*.new") if shared else ():
        with suppress(FileNotFoundError):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    elif folder.exists():
        # Something else under the name of a folder, such as a FIFO, which rmtree would wait for.
        folder.unlink()


def _sibling(path: Path, role: str) -> Path:
    if not path.name:
        raise StorageError(f"{str(path)!r} is not the name of a file or folder to write.")
    return path.with_name(f".{path.name}.{role}")


@contextmanager
def _explained(path: Path, size: int, temporary: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, KeyboardInterrupt) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, KeyboardInterrupt):
            raise
        if error.errno not in NO_ROOM:
            place = f": {error.filename}" if error.filename else ""
            raise StorageError(f"{path} could not be written: {error.strerror}{place}.") from error
        free = shutil.disk_usage(next(p for p in path.absolute().parents if p.exists())).free
        raise StorageError(
            f"{path} could not be written: {error.strerror}. It needs {size:,} bytes and {free:,} are free there. "
            "What was there before is untouched; make room and go on."
        ) from error
