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
_NEVER = -1  # mallopt() takes an int: two gigabytes are beyond it, and would arrive as zero
_kept = 0


def keep_pages(megabytes: int = 1024) -> bool:
    """Let this process keep up to ``megabytes`` of freed memory, or all of it from 2048 on.

    Called when the compiled kernels are first used; of several calls the largest counts. It concerns the whole process:
    if memory is short, the environment variable ``SOMAMBA_RETURN_PAGES=1`` leaves the allocator as it is.

    Returns:
        Whether the C library took the hint.
    """
    global _kept
    if os.environ.get(DISABLE, "0") not in ("", "0"):
        return False
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return False
    libc, _kept = ctypes.CDLL(None), max(_kept, megabytes)
    threshold = _kept << 20 if _kept < 2048 else _NEVER
    return bool(libc.mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(libc.mallopt(_TRIM_THRESHOLD, threshold))
