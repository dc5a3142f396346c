"""Keep freed memory for the next tensor instead of handing it back to the system.

A network allocates and frees the same large tensors over and over. The C library's allocator returns such blocks to the
system, and touching fresh pages again costs more than the arithmetic on them.
"""

import ctypes
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt() in <malloc.h>
_LARGEST = 32 << 20  # glibc accepts no larger threshold


def keep_pages(megabytes: int = 1024) -> bool:
    """Let this process keep up to ``megabytes`` of freed memory; returns whether the C library took the hint.

    It concerns the whole process, so a library should not do it behind its user's back: the command line calls it, and
    so may a program that uses somamba.
    """
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    return bool(libc.mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(libc.mallopt(_TRIM_THRESHOLD, megabytes << 20))
