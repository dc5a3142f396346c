"""A folder has one writer, and a writer that dies leaves no lock."""

import os
import signal
import subprocess
import sys
import time

import pytest

from full_disk import largest_file
from somamba.errors import InputError, StorageError
from somamba.runtime.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from somamba.runtime.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "run"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_and_the_first_is_named(holder, tmp_path):
    with (
        pytest.raises(InputError, match=f"in use by process {holder.pid} on .*still running"),
        locked(tmp_path / "run"),
    ):
        pytest.fail("two writers")


def test_a_process_that_is_killed_leaves_no_lock(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run" / ".lock").exists()
    with locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_a_second_lock_in_the_same_process_is_refused_too(tmp_path):
    with locked(tmp_path / "run"):
        with pytest.raises(InputError, match=f"process {os.getpid()} "), locked(tmp_path / "run"):
            pytest.fail("two writers")
        (tmp_path / "run" / "result").write_text("x")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["result"]


def test_a_full_disk_is_said_with_the_file_and_leaves_no_lock(tmp_path):
    with (
        largest_file(0),
        pytest.raises(StorageError, match=r"run/\.lock could not be written: File too large"),
        locked(tmp_path / "run"),
    ):
        pytest.fail("a lock that says nothing")
    assert not (tmp_path / "run").exists()


FORK = """
import os, sys, time
from pathlib import Path
from somamba.runtime.lock import locked
with locked(Path(sys.argv[1])):
    if os.fork() == 0:
        os.close(1)
        os.close(2)
        Path(sys.argv[1]).with_name("child").touch()
        time.sleep(20)
    os._exit(0)
"""


def test_a_child_that_outlives_its_parent_does_not_keep_the_lock(tmp_path):
    subprocess.run([sys.executable, "-c", FORK, tmp_path / "run"], check=True)
    while not (tmp_path / "child").exists():
        time.sleep(0.01)
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"file/run/\.lock could not be written"), locked(tmp_path / "file" / "run"):
        pytest.fail("no folder")
