"""Acquisitions of an ISMRMRD file are read as tables and arrays of what they declare."""

import h5py
import numpy as np
import pytest

from raw.made import acquisition, noise, write_mrd
from somamba.errors import DataError
from somamba.files import reading
from somamba.files.formats.ismrmrd import COLUMNS


@pytest.fixture
def path(tmp_path):
    lines = [acquisition(noise((2, 6), 1.0, seed), kspace_encode_step_1=seed, flags=(20, 60)) for seed in range(3)]
    return write_mrd(tmp_path / "a.h5", [*lines, acquisition(noise((2, 9), 1.0))], (6, 3))


def test_heads_are_a_table_with_named_columns(path):
    assert reading.inspect(path).arrays["dataset/head"].shape == (4, len(COLUMNS))
    heads = dict(zip(COLUMNS, reading.read(path, "dataset/head", 0, 4).T, strict=True))
    assert heads["kspace_encode_step_1"].tolist() == [0, 1, 2, 0]
    assert heads["number_of_samples"].tolist() == [6, 6, 6, 9]
    assert (heads["flags_low"][0], heads["flags_high"][0]) == (1 << 19, 1 << 27)


def test_readouts_of_equal_size_are_one_array(path):
    readouts = reading.read(path, "dataset/data", 1, 3)
    np.testing.assert_array_equal(readouts, [noise((2, 6), 1.0, 1), noise((2, 6), 1.0, 2)])
    with pytest.raises(DataError, match="acquisitions 2 to 4 differ in coils or samples"):
        reading.read(path, "dataset/data", 2, 4)


def test_lists_of_anything_else_are_not_read(path):
    with h5py.File(path, "a") as file:
        file["texts"] = ["a", "b"]
    with pytest.raises(DataError, match="no array of numbers"):
        reading.read(path, "texts", 0, 1)


def test_a_number_of_samples_that_is_not_stored_is_refused(path):
    with h5py.File(path, "a") as file:
        one = file["dataset/data"][0]
        one["head"]["number_of_samples"] = 65535
        file["dataset/data"][0] = one
    with pytest.raises(DataError, match="declares 2 coils and 65535 samples but stores 12 values"):
        reading.read(path, "dataset/data", 0, 1)
