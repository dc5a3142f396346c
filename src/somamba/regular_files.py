"""Opens regular files only. A FIFO, device or socket under a file's name could block for ever or never end.

What is refused is an `OSError` with a plain `strerror`, so that callers report it as they report a missing file.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a named pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}

FLAGS = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
"""How files are opened, as far as a system has these flags; without O_BINARY Windows would change line ends."""


def check_regular(path: str | Path) -> os.stat_result:
    """Raise an `OSError` unless the path leads to a regular file; return what the system says about it."""
    return _checked(Path(path).stat(), path)


def open_regular(path: str | Path) -> BufferedReader:
    """Open a regular file for reading; return at once, with an `OSError`, if it is anything else."""
    check_regular(path)
    # The file may have been exchanged since it was checked: O_NONBLOCK keeps the opening of a FIFO from waiting for a
    # writer, and means nothing for regular files.
    handle = os.open(path, os.O_RDONLY | FLAGS)
    try:
        _checked(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | Path, *, most: int | None = None) -> bytes:
    """Read the whole content of a regular file.

    Args:
        path: The file.
        most: The largest size that is read, in bytes; None reads a file of any size.
    """
    with open_regular(path) as file:
        # The size is asked for first: reading "at most so many bytes" takes the memory for as many.
        is_larger = most is not None and os.fstat(file.fileno()).st_size > most
        content = b"" if is_larger else file.read()
    if is_larger or (most is not None and len(content) > most):
        raise OSError(errno.EFBIG, f"It is larger than {most:,} bytes", str(path))
    return content


def _checked(facts: os.stat_result, path: str | Path) -> os.stat_result:
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, "It is a folder, not a file", str(path))
    if not stat.S_ISREG(facts.st_mode):
        kind = KINDS.get(stat.S_IFMT(facts.st_mode), "something else")
        raise OSError(errno.EINVAL, f"It is {kind}, not a regular file", str(path))
    return facts
