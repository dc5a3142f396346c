"""Files of strangers are read correctly or refused with a reason; they never crash, hang or lead elsewhere."""

import os

import numpy as np
import pytest

from files.made import hdf5
from somamba.errors import DataError
from somamba.files import reading


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
