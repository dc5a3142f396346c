"""Hostile files cost little, sound ones of any size are read: measured for this and the reading process together."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

from files.attack import status
from files.bombs import BOMBS
from somamba.files import reading
from somamba.files.sandbox import sandbox

MUTANTS, SEED = 2000, 20
MEMORY_MIB, CPU_SECONDS = 1500, 10


def attack(*arguments) -> dict[str, dict]:
    """Run the attack in a process of its own; what came of every kind of file."""
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(tests / "files" / "attack.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    found = {facts["kind"]: facts for facts in map(json.loads, done.stdout.splitlines())}
    for kind, facts in found.items():
        assert facts["memory"] < MEMORY_MIB, (kind, facts)
        assert facts["seconds"] < CPU_SECONDS, (kind, facts)
    return found


def test_bombs_are_refused_and_cost_little(tmp_path):
    found = attack("bombs", tmp_path)
    assert found.keys() == BOMBS.keys()
    assert not [kind for kind, facts in found.items() if "read" in facts]


def test_damaged_files_are_refused_or_read_whole_and_cost_little(tmp_path):
    found = attack("mutants", tmp_path, MUTANTS, SEED)
    outcomes = {key: sum(facts.get(key, 0) for facts in found.values()) for key in ("read", "refused")}
    assert sum(outcomes.values()) == MUTANTS
    # Neither a reader that refuses everything nor one that notices nothing would pass.
    assert min(outcomes.values()) > MUTANTS // 10, outcomes
    # The message names the file.
    assert all(str(tmp_path) in facts["words"] for facts in found.values())


def test_a_large_scan_is_read_slice_by_slice(tmp_path):
    shape, path = (16, 16, 640, 368), tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        # Most of it is a hole in the file, so that the test needs no disk.
        kspace = file.create_dataset("kspace", shape, "c8")
        for index in range(shape[0]):
            kspace[index, :, 320, 184] = index + 1
    assert path.stat().st_size > 480e6
    for index in range(shape[0]):
        values = reading.read(path, "kspace", index, index + 1)
        assert values.shape == (1, *shape[1:])
        np.testing.assert_array_equal(values[0, :, 320, 184], index + 1)
        assert np.count_nonzero(values) == shape[1]
    assert status(sandbox()._child.pid) < MEMORY_MIB // 4
