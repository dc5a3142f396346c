"""Keep freed memory for the next tensor instead of handing it back to the system, and keep it in large pages.

A network allocates and frees the same large tensors over and over. The C library's allocator returns such blocks to the
system, and touching fresh pages again costs more than the arithmetic on them: a quarter of an inference, as measured.
Pages of 2 MB instead of 4 KB make a training step 3 % faster: fewer addresses are looked up, fewer pages are cleared.
"""

import ctypes
import mmap
import os
import platform

DISABLE = "SOMAMBA_RETURN_PAGES"
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # names of mallopt() in <malloc.h>
_USUAL_PAD = 128 << 10  # of glibc
_LARGEST = 32 << 20  # glibc accepts no larger threshold
_NEVER = -1  # mallopt() takes an int: two gigabytes are beyond it, and would arrive as zero
_MOST_RESERVED = 1024  # megabytes; a training of the paper's network takes as many
_kept = _reserved = 0


def keep_pages(megabytes: int = 1024) -> bool:
    """Let this process keep up to ``megabytes`` of freed memory, or all of it from 2048 on.

    Called when the compiled kernels are first used; of several calls the largest counts. It concerns the whole process:
    if memory is short, the environment variable ``SOMAMBA_RETURN_PAGES=1`` leaves the allocator as it is.

    Returns:
        Whether the C library took the hint.
    """
    global _kept, _reserved
    if os.environ.get(DISABLE, "0") not in ("", "0"):
        return False
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return False
    libc, _kept = ctypes.CDLL(None), max(_kept, megabytes)
    threshold = _kept << 20 if _kept < 2048 else _NEVER
    if not (libc.mallopt(_MMAP_THRESHOLD, _LARGEST) and libc.mallopt(_TRIM_THRESHOLD, threshold)):
        return False
    # Before its first use what is reserved counts as freed: it must be less than what is kept.
    reserved = min(_kept // 2, _MOST_RESERVED)
    if reserved > _reserved:
        _reserve(libc, reserved - _reserved << 20)
        _reserved = reserved
    return True


def _reserve(libc: ctypes.CDLL, size: int) -> None:
    """Let the heap grow by ``size`` bytes of addresses and ask for large pages there; none of them is touched.

    Where the system has no large pages, or the heap cannot grow, everything stays as it is.
    """
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    before = -(-libc.sbrk(0) // mmap.PAGESIZE) * mmap.PAGESIZE
    # The next block for which the heap must grow makes it grow by so much more.
    libc.mallopt(_TOP_PAD, size)
    libc.free(libc.malloc(_LARGEST - mmap.PAGESIZE))
    libc.mallopt(_TOP_PAD, _USUAL_PAD)
    after = libc.sbrk(0)
    if after > before:
        libc.madvise(before, after - before, mmap.MADV_HUGEPAGE)
