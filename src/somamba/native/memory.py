"""Keep freed memory for the next tensor instead of handing it back to the system.

A network allocates and frees the same large tensors over and over. The C library's allocator returns such blocks to the
system, and touching fresh pages again costs more than the arithmetic on them: a quarter of an inference, as measured.
"""

import ctypes
import os
import platform

DISABLE = "SOMAMBA_RETURN_PAGES"
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt() in <malloc.h>
_LARGEST = 32 << 20  # glibc accepts no larger threshold


def keep_pages(megabytes: int = 1024) -> bool:
    """Let this process keep up to ``megabytes`` of freed memory; returns whether the C library took the hint.

    Called when the compiled kernels are first used. It concerns the whole process: where memory is short, the
    environment variable ``SOMAMBA_RETURN_PAGES=1`` leaves the allocator as it is.
    """
    if os.environ.get(DISABLE, "0") not in ("", "0"):
        return False
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    return bool(libc.mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(libc.mallopt(_TRIM_THRESHOLD, megabytes << 20))
