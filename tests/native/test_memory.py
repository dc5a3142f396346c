"""Freed memory is kept for the next tensor once that was asked for."""

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, torch
from somamba.native.memory import keep_pages
kept = {keep} and keep_pages(512)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    pieces = [torch.ones(5_000_000) for _ in range(8)]  # 20 MB each

for _ in range(5):  # the heap finds its shape
    work()
before = faults()
work()
print(int(kept), faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_rounds_of_equal_tensors_come_to_touch_no_fresh_pages():
    def run(keep):
        code = CODE.format(keep=keep)
        return map(int, subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.split())

    kept, with_hint = run(keep=True)
    _, without = run(keep=False)
    assert kept == 1
    assert with_hint < 1000 < without
