"""Files of strangers are read correctly or refused with a reason; they never crash, hang or lead elsewhere."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pytest

from files.mutants import mutate_file
from somamba.data.case import LeftOut
from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.prepare import prepare
from somamba.errors import DataError
from somamba.files import reading

MUTANTS = 500
SEED = 20
NAMES = ("fastmri", "fastmri_multicoil", "m4raw", "cc359", "cc359_multicoil", "acdc", "prostate158")


def hdf5(path: Path, **arrays) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


def test_rows_of_an_array_are_read_without_the_rest(tmp_path):
    array = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    path = hdf5(tmp_path / "a.h5", kspace=array)
    np.testing.assert_array_equal(reading.read(path, "kspace", 1, 3), array[1:3])
    assert reading.inspect(path).arrays["kspace"].shape == (4, 3, 2)


def test_big_endian_values_arrive_as_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">f4").reshape(3, 2))
    np.testing.assert_array_equal(reading.read(tmp_path / "a.npy", "array", 0, 3), [[0, 1], [2, 3], [4, 5]])


def test_soft_and_external_links_are_refused(tmp_path):
    secret = hdf5(tmp_path / "secret.h5", kspace=np.ones((2, 2)))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["kspace"] = h5py.ExternalLink(str(secret), "kspace")
        file["real"] = np.zeros((2, 2))
        file["soft"] = h5py.SoftLink("/real")
    for name in ("kspace", "soft"):
        with pytest.raises(DataError, match="is a link"):
            reading.read(tmp_path / "a.h5", name, 0, 1)
    with pytest.raises(DataError, match=r"is a link.*not read"):
        reading.inspect(tmp_path / "a.h5").array("kspace", axes=2, kinds="f")


def test_values_stored_in_other_files_are_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(64))
    hdf5(tmp_path / "source.h5", data=np.ones((2, 2)))
    layout = h5py.VirtualLayout(shape=(2, 2), dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "source.h5"), "data", shape=(2, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("outside", (2, 4), "f8", external=[(str(tmp_path / "secret"), 0, 64)])
        file.create_virtual_dataset("virtual", layout)
    for name in ("outside", "virtual"):
        with pytest.raises(DataError, match="in other files"):
            reading.read(tmp_path / "a.h5", name, 0, 1)


def test_declared_terabytes_are_refused_before_they_are_allocated(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("kspace", shape=(1 << 20, 1 << 12, 1 << 12), dtype="f4", chunks=(1, 64, 64))
    assert (tmp_path / "a.h5").stat().st_size < 10_000
    with pytest.raises(DataError, match="65536 GiB"):
        reading.read(tmp_path / "a.h5", "kspace", 0, 1)


def test_rows_that_do_not_fit_in_memory_are_refused(tmp_path):
    with h5py.File(tmp_path / "bomb.h5", "w") as file:
        file.create_dataset("kspace", shape=(64, 1 << 14, 1 << 12), dtype="f4", chunks=(1, 64, 64), compression="gzip")
    with pytest.raises(DataError, match="GiB at once"):
        reading.read(tmp_path / "bomb.h5", "kspace", 0, 64)


def test_pickles_in_an_array_file_are_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.save(tmp_path / "a.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"a\.npy"):
        reading.inspect(tmp_path / "a.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["missing.h5", "missing.npy", "missing.nii.gz", "strange.xyz"])
def test_a_file_that_is_not_there_is_said_so_by_name(name, tmp_path):
    with pytest.raises(DataError, match=name):
        reading.inspect(tmp_path / name)


def test_a_reading_that_hangs_ends_at_the_deadline(tmp_path, monkeypatch):
    process = reading.ReadingProcess()
    path = hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2)))
    request = {"do": "inspect", "path": str(path)}
    process.ask(request)
    # A stopped child is as silent as one that loops for ever.
    os.kill(process._child.pid, signal.SIGSTOP)
    monkeypatch.setattr(reading, "DEADLINE_SECONDS", 0.2)
    with pytest.raises(DataError, match=r"a\.h5: reading it took longer than 0\.2 s"):
        process.ask(request)
    monkeypatch.undo()
    assert process.ask(request)[0]["arrays"]["kspace"]["shape"] == [2, 2]
    process.close()


def test_a_reading_that_crashes_is_an_error_and_the_next_file_is_read(tmp_path):
    process = reading.ReadingProcess()
    request = {"do": "inspect", "path": str(hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2))))}
    process.ask(request)
    os.kill(process._child.pid, signal.SIGSTOP)
    os.kill(process._child.pid, signal.SIGSEGV)
    os.kill(process._child.pid, signal.SIGCONT)
    with pytest.raises(DataError, match="crashed the reading process"):
        process.ask(request)
    assert "kspace" in process.ask(request)[0]["arrays"]
    process.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_does_not_end_a_reading(number, tmp_path):
    process = reading.ReadingProcess()
    request = {"do": "inspect", "path": str(hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2))))}
    process.ask(request)
    child = process._child
    child.send_signal(number)
    assert "kspace" in process.ask(request)[0]["arrays"]
    assert process._child is child
    process.close()


def test_forked_workers_read_through_children_of_their_own(tmp_path):
    path = hdf5(tmp_path / "a.h5", kspace=np.ones((2, 2)))
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom somamba.files import reading\n"
        "path = Path(sys.argv[1])\nreading.inspect(path)\n"
        "worker = os.fork()\nreading.read(path, 'kspace', 0, 2)\nchild = reading._process()._child.pid\n"
        "if worker == 0:\n    os._exit(child % 251)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) != child % 251\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=60)


def attempt(entry, config: DataConfig) -> tuple[str, str]:
    """Read a case to its last slice; what came of it, and the message where it was refused."""
    try:
        case = DATASETS[config.dataset].open_case(entry)
        if isinstance(case, LeftOut):
            return "left out", case.reason
        ready = prepare(case, config)
    except DataError as error:
        return "refused", str(error)
    assert ready.array.shape == (len(ready.slices), 16, 16)
    assert np.isfinite(ready.array).all()
    return "read", ""


def test_damaged_files_give_our_error_or_a_reading_of_the_declared_shape(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "DEADLINE_SECONDS", 10.0)
    draw = np.random.Generator(np.random.Philox(key=SEED))
    outcomes = Counter()
    for name in NAMES:
        write_phantom(name, tmp_path / name, cases={"train": 1}, shape=(16, 16))
    for turn in range(MUTANTS):
        name = NAMES[turn % len(NAMES)]
        entry = DATASETS[name].find(tmp_path / name).entries[0]
        victim = entry.files[int(draw.integers(len(entry.files)))]
        sound = victim.read_bytes()
        victim.write_bytes(mutate_file(sound, "".join(victim.suffixes[-2:]), draw))
        outcome, message = attempt(entry, DataConfig(dataset=name, path=str(tmp_path / name), size=(16, 16)))
        victim.write_bytes(sound)
        outcomes[outcome] += 1
        # Whoever reads the message must be able to find the file.
        assert outcome != "refused" or entry.id in message or victim.parent.name in message
    # Neither a reader that refuses everything nor one that notices nothing would pass.
    assert min(outcomes["read"], outcomes["refused"]) > MUTANTS // 10, outcomes
