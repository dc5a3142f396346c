"""Files of strangers are read correctly or refused with a reason; they never crash, hang or lead elsewhere."""

import os
from collections import Counter

import numpy as np
import pytest

from files.made import hdf5
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


def test_rows_of_an_array_are_read_without_the_rest(tmp_path):
    array = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    path = hdf5(tmp_path / "a.h5", kspace=array)
    np.testing.assert_array_equal(reading.read(path, "kspace", 1, 3), array[1:3])
    assert reading.inspect(path).arrays["kspace"].shape == (4, 3, 2)


def test_big_endian_values_arrive_as_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">f4").reshape(3, 2))
    np.testing.assert_array_equal(reading.read(tmp_path / "a.npy", "array", 0, 3), [[0, 1], [2, 3], [4, 5]])


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


def test_damaged_files_give_our_error_or_a_reading_of_the_declared_shape(tmp_path):
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
