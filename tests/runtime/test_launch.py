"""Processes that were started together end together, with one exit code."""

import os
import signal
import subprocess
import sys
import time

import pytest

from somamba.errors import ConfigError
from somamba.runtime.launch import cores, launch, processes_for, share_of_cores

SAY = """
import os
from pathlib import Path
Path(f"{os.environ['RANK']}-of-{os.environ['WORLD_SIZE']}").write_text(os.environ["OMP_NUM_THREADS"])
"""


def test_each_process_knows_its_number_and_has_one_thread(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert launch([sys.executable, "-c", SAY], 3) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {f"{rank}-of-3": "1" for rank in range(3)}


@pytest.mark.parametrize(
    ("available", "processes", "shares"),
    [
        ([0, 1], 2, [[0], [1]]),
        ([2, 3, 5, 7, 8], 2, [[2, 3], [5, 7, 8]]),
        ([4], 2, [[4], [4]]),
        ([0, 1, 2], 3, [[0], [1], [2]]),
        ([0, 1, 2], 1, [[0, 1, 2]]),
    ],
)
def test_processes_share_the_cores(available, processes, shares):
    assert [share_of_cores(available, rank, processes) for rank in range(processes)] == shares


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds processes to cores")
def test_each_process_keeps_to_its_cores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import os, pathlib; pathlib.Path(os.environ['RANK']).write_text(repr(sorted(os.sched_getaffinity(0))))"
    assert launch([sys.executable, "-c", code], 2) == 0
    ours = sorted(os.sched_getaffinity(0))
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == [
        repr(share_of_cores(ours, rank, 2)) for rank in range(2)
    ]


@pytest.mark.parametrize("end", ["sys.exit(2)", "os.kill(os.getpid(), 9)"])
def test_one_that_fails_ends_all_at_once(end):
    code = f"import os, sys, time\nif os.environ['RANK'] == '1':\n    {end}\ntime.sleep(600)"
    assert launch([sys.executable, "-c", code], 2) == (2 if "exit" in end else 128 + 9)


def test_what_another_process_says_of_its_failure_is_printed(capfd):
    code = "import os, sys, time\nif os.environ['RANK'] == '1':\n    sys.exit('no such thing')\ntime.sleep(600)"
    assert launch([sys.executable, "-c", code], 2) == 1
    assert "Process 1 of 2: no such thing" in capfd.readouterr().err


@pytest.mark.parametrize("rank", [0, 1])
def test_that_a_process_was_killed_is_said(rank, capfd):
    code = f"import os, time\nif os.environ['RANK'] == '{rank}':\n    os.kill(os.getpid(), 9)\ntime.sleep(600)"
    assert launch([sys.executable, "-c", code], 2) == 128 + 9
    assert f"somamba: process {rank} of 2 was ended from outside (SIGKILL)" in capfd.readouterr().err


WAIT = """
import signal, sys, time
from pathlib import Path
import os
def leave(number, frame):
    Path(f"stopped{os.environ['RANK']}").touch()
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, leave)
Path(f"ready{os.environ['RANK']}").touch()
time.sleep(600)
"""
PARENT = """
import sys
from somamba.runtime.launch import launch
sys.exit(launch([sys.executable, "-c", sys.argv[1]], 2))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_parent_stops_all(tmp_path, number):
    """Passed on, or sent by the system when the parent is killed."""
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent died")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, WAIT], cwd=tmp_path)
    while len(list(tmp_path.glob("ready*"))) < 2:
        time.sleep(0.05)
    parent.send_signal(number)
    assert parent.wait() == (143 if number == signal.SIGTERM else -9)
    while len(list(tmp_path.glob("stopped*"))) < 2:
        time.sleep(0.05)


def test_auto_takes_as_many_as_share_the_batch_evenly():
    most = cores()
    assert most == len(os.sched_getaffinity(0))
    for batch in (1, 2, 6, 8):
        count = processes_for("auto", batch)
        assert batch % count == 0
        assert 1 <= count <= most
    assert processes_for("3", 6) == 3
    with pytest.raises(ConfigError, match="cannot be shared evenly by --processes 4"):
        processes_for("4", 6)
