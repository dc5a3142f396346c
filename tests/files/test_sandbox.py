"""The reading process may stop, crash or run out of time: the error says why, and the next file is read."""

import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from files.made import hdf5
from somamba.errors import DataError
from somamba.files import sandbox


@pytest.fixture
def process():
    process = sandbox.Sandbox()
    yield process
    process.close()


@pytest.fixture
def request_(tmp_path):
    return {"do": "inspect", "path": str(hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2))))}


def test_a_disk_that_does_not_answer_is_not_the_fault_of_the_file(process, request_, monkeypatch):
    process.ask(request_)
    # A stopped child is as silent as one that waits for a disk.
    os.kill(process._child.pid, signal.SIGSTOP)
    monkeypatch.setattr(sandbox, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(DataError, match=r"a\.h5: no answer for 0\.2 s\. Its disk may not respond; try again") as caught:
        process.ask(request_)
    assert "harm" not in str(caught.value)
    monkeypatch.undo()
    assert process.ask(request_)[0]["arrays"]["kspace"]["shape"] == [2, 2]


@pytest.mark.parametrize(
    ("number", "words", "blamed"),
    [
        (signal.SIGSEGV, r"crashed the reading process \(SIGSEGV\)", True),
        (signal.SIGXCPU, "more processor time than a file of its size may", True),
        (signal.SIGKILL, r"ended from outside \(SIGKILL\), perhaps because the machine ran out of memory", False),
    ],
)
def test_the_end_of_a_reading_is_explained_and_the_next_file_is_read(number, words, blamed, process, request_):
    process.ask(request_)
    os.kill(process._child.pid, number)
    os.waitid(os.P_PID, process._child.pid, os.WEXITED | os.WNOWAIT)
    # The parent has not noticed yet.
    process._child.poll = lambda: None
    with pytest.raises(DataError, match=words) as caught:
        process.ask(request_)
    assert ("made to do harm" in str(caught.value)) == blamed
    assert "kspace" in process.ask(request_)[0]["arrays"]


def test_a_file_that_takes_processor_time_without_end_is_refused(process, tmp_path):
    # In Fortran order, the whole array is unpacked for every row.
    np.savez_compressed(tmp_path / "a.npz", kspace=np.zeros((1024, 1 << 17), np.uint8, order="F"))
    request = {"do": "read", "path": str(tmp_path / "a.npz"), "name": "kspace"}
    requests = ({**request, "start": row, "stop": row + 1} for row in range(1024))
    with pytest.raises(DataError, match="more processor time than a file of its size may"):
        list(map(process.ask, requests))


def test_a_process_that_holds_memory_of_earlier_files_is_replaced(process, tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        # The library keeps what it allocates for every chunk.
        file.create_dataset("kspace", data=np.ones((512, 512), "f4"), chunks=(2, 1), compression="gzip")
    request = {"do": "read", "path": str(path), "name": "kspace", "start": 0, "stop": 512}
    with pytest.raises(DataError, match="more than the 512 MiB of memory that are allowed"):
        process.ask(request)
    assert process._child is None
    path = hdf5(tmp_path / "b.h5", kspace=np.ones((1, 1 << 24), "f4"))
    assert process.ask({**request, "path": str(path), "stop": 1})[1].nbytes == 1 << 26


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_does_not_end_a_reading(number, process, request_):
    process.ask(request_)
    child = process._child
    child.send_signal(number)
    assert "kspace" in process.ask(request_)[0]["arrays"]
    assert process._child is child


def test_forked_workers_read_through_children_of_their_own(tmp_path):
    path = hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2)))
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom somamba.files import reading, sandbox\n"
        "path = Path(sys.argv[1])\nreading.inspect(path)\n"
        "worker = os.fork()\nreading.read(path, 'kspace', 0, 2)\nchild = sandbox.sandbox()._child.pid\n"
        "if worker == 0:\n    os._exit(child % 251)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) != child % 251\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=60)
