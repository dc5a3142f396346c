"""Several processes of one command on this machine, which join as under ``torchrun`` and end together."""

import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import IO

from somamba.errors import ConfigError

FORWARDED = (signal.SIGINT, signal.SIGTERM)
PAUSE = 0.1
"""Seconds between two looks at the processes."""
_PARENT_DEATH_SIGNAL = 1  # name of prctl() in <sys/prctl.h>


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_of_cores(available: Sequence[int], rank: int, processes: int) -> Sequence[int]:
    """The cores for one of several processes, none of them for two; all for each where there are too few.

    The scheduler of some virtual machines packs processes that may run anywhere onto one core and leaves others idle.

    Args:
        available: The cores that the processes may use in all.
        rank: Number of the process.
        processes: How many there are.
    """
    if len(available) < processes:
        return available
    return available[len(available) * rank // processes : len(available) * (rank + 1) // processes]


def processes_for(asked: str, batch_size: int) -> int:
    """How many processes to start.

    Args:
        asked: A number, or ``auto`` for one on each core, as far as they can share a batch evenly.
        batch_size: Slices of one step.
    """
    if asked == "auto":
        return max(count for count in range(1, min(cores(), batch_size) + 1) if batch_size % count == 0)
    if batch_size % int(asked):
        raise ConfigError(f"batch_size={batch_size} cannot be shared evenly by --processes {asked}.")
    return int(asked)


def launch(
    command: Sequence[str], processes: int, *, silent: bool = False, environment: Mapping[str, str] | None = None
) -> int:
    """Run a command in several processes; the first one prints, the others are silent unless they fail.

    Each has cores of its own. SIGINT and SIGTERM are passed on to all. If one fails or is killed, the others are
    killed: they could only wait for it, and what they write is safe at any moment. If this process is killed, they get
    SIGTERM.

    Args:
        command: Program and arguments, the same for all.
        processes: How many.
        silent: Whether the first one prints nothing but its errors.
        environment: Variables for all of them, besides those of this process.

    Returns:
        The exit code of the first process that failed, as a shell counts it, or of the first process.
    """
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(processes)}
    settings |= {"OMP_NUM_THREADS": "1"} | dict(environment or {})
    running: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        errors = [None if rank == 0 else stack.enter_context(tempfile.TemporaryFile()) for rank in range(processes)]
        stack.enter_context(_forwarding(running))
        for rank, error in enumerate(errors):
            own = os.environ | settings | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            settle = partial(_settle, rank, processes) if platform.system() == "Linux" else None
            running.append(_start(command, own, error, silent=silent or rank > 0, settle=settle))
        ended, code = _wait(running)
        _print_failure(ended, code, errors)
    return 128 - code if code < 0 else code


def _start(
    command: Sequence[str],
    environment: dict[str, str],
    error: IO[bytes] | None,
    *,
    silent: bool,
    settle: Callable[[], None] | None,
) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C then reaches the process once, passed on, and not a second time from the terminal.
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL if silent else None,
        stderr=error,
        start_new_session=True,
        preexec_fn=settle,
    )


def _settle(rank: int, processes: int) -> None:
    """In a new process: end with its parent, and keep to its cores."""
    _libc.prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGTERM))
    os.sched_setaffinity(0, share_of_cores(sorted(os.sched_getaffinity(0)), rank, processes))


_libc = ctypes.CDLL(None if sys.platform != "win32" else "msvcrt")


def _wait(running: Sequence[subprocess.Popen[bytes]]) -> tuple[int, int]:
    """Wait for all; kill the rest once one has failed. The number and exit code of that one, or of the first."""
    while True:
        codes = [process.poll() for process in running]
        # A training that was stopped by a signal or its time limit leaves with the same code in every process.
        failed = [(rank, code) for rank, code in enumerate(codes) if code is not None and (code < 0 or code in (1, 2))]
        if failed or None not in codes:
            break
        time.sleep(PAUSE)
    if failed:
        time.sleep(10 * PAUSE)  # The first process may be about to print what happened.
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
    # If one was killed, the others fail because it does not answer.
    return min(failed, key=lambda found: found[1] >= 0) if failed else (0, running[0].returncode)


def _print_failure(rank: int, code: int, errors: Sequence[IO[bytes] | None]) -> None:
    """Say what ended a process, unless it was the first one, which could say it itself."""
    if code < 0:
        sys.stderr.write(
            f"somamba: process {rank} of {len(errors)} was ended from outside ({signal.Signals(-code).name}), perhaps "
            "because the machine ran out of memory; the others were ended too.\n"
        )
    elif code in (1, 2) and (error := errors[rank]) is not None:
        error.seek(0)
        sys.stderr.write(f"Process {rank} of {len(errors)}: {error.read().decode(errors='replace')[-4000:]}\n")


@contextmanager
def _forwarding(running: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Inside, signals to this process go to the others."""

    def forward(number: int, _frame: FrameType | None) -> None:
        for process in running:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
