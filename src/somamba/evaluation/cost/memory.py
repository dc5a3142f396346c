"""Memory of a task: the peak that it adds to the resident set of a fresh process. Linux only."""

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from somamba.errors import InputError

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def added_megabytes(task: Callable[[], object]) -> float:
    """Run a task once and return the peak growth of the resident set in MB.

    Call it in a process of its own: memory that an earlier task freed would be used again and not be counted.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(
        0
    )  # Memory that building a network freed is given back, or the task would use it again.
    CLEAR.write_text("5")  # This resets the peak.
    before = _status("VmRSS")
    task()
    return _status("VmHWM") - before


def can_weigh() -> bool:
    """Whether this system reports the peak of a process and lets it be reset."""
    return CLEAR.exists()


def in_child(code: str, threads: int) -> float:
    """Run code that prints a number, in a fresh process that finds the modules this one finds.

    Raises:
        InputError: the system does not report memory, or the child failed.
    """
    if not can_weigh():
        raise InputError(f"The memory of a process is measured through {CLEAR.parent}, which only Linux has.")
    code = f"import torch; torch.set_num_threads({threads}); {code}"
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip() or "it was killed").splitlines()[-1]
        raise InputError(f"The process that measures memory ended with {done.returncode}: {last}")
    return float(done.stdout)


def _status(field: str) -> float:
    """A line of /proc/self/status in MB; getrusage would report the parent's peak if that was larger."""
    return int(STATUS.read_text().split(f"{field}:")[1].split()[0]) / 1024
