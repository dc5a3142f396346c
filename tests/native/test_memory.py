"""Large tensors stay on the heap, whose pages are kept, once that was asked for."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")

CODE = """
import ctypes
import torch
from somamba.native.memory import keep_pages

class Info(ctypes.Structure):  # struct mallinfo2 of <malloc.h>
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd u1 u2 u3 u4 keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
taken = {keep} and all([keep_pages(megabytes) for megabytes in {megabytes}])
before = libc.mallinfo2().hblkhd
tensor = torch.ones(5_000_000)  # 20 MB
print(int(taken), (libc.mallinfo2().hblkhd - before) >> 20)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
# Plain blocks, the last one freed first: whatever a library keeps above them would hold them back.
blocks = [libc.malloc(20_000_000) for _ in range(5)]
held = libc.mallinfo2().arena
for block in reversed(blocks):
    libc.free(block)
print(held - libc.mallinfo2().arena >> 20)
"""


def run(*, keep, megabytes=(64,), **environment):
    command = [sys.executable, "-c", CODE.format(keep=keep, megabytes=megabytes)]
    output = subprocess.run(command, capture_output=True, check=True, env=os.environ | environment).stdout
    return [int(word) for word in output.split()]


def test_a_large_tensor_is_mapped_apart_by_default():
    assert run(keep=False)[:2] == [0, 19]


def test_it_comes_from_the_heap_when_pages_are_kept():
    assert run(keep=True)[:2] == [1, 0]


def test_the_environment_can_forbid_it():
    assert run(keep=True, SOMAMBA_RETURN_PAGES="1")[:2] == [0, 19]


@pytest.mark.parametrize(("megabytes", "returned"), [((16,), 95), ((1024,), 0), ((4096,), 0), ((4096, 16), 0)])
def test_freed_memory_is_kept_up_to_the_most_that_was_asked_for(megabytes, returned):
    assert run(keep=True, megabytes=megabytes)[2] == pytest.approx(returned, abs=2)


LARGE = """
import ctypes
from somamba.native.memory import keep_pages

libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
assert keep_pages(64)
flags, start = "", 0
for line in open("/proc/self/smaps"):
    first, _, rest = line.partition("-")
    if rest and "[heap]" in rest:
        start = 1
    elif rest and ":" not in first:
        start = 0
    if start and line.startswith("VmFlags"):
        flags += line
before = libc.sbrk(0)
keep_pages(64)
print(int(" hg" in flags), libc.sbrk(0) - before)
"""


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="the system has no large pages")
def test_the_heap_asks_for_large_pages_and_grows_for_them_once():
    output = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, check=True).stdout
    assert [int(word) for word in output.split()] == [1, 0]
