"""HDF5 outputs are fastMRI submissions, for h5py and for our own reader."""

import h5py
import numpy as np
import pytest

from inference.writers.made import CORONAL, made
from somamba.errors import DataError
from somamba.files.reading import inspect, read
from somamba.inference.writers.writing import write
from somamba.raw.opening import open_raw_scan


def test_h5py_finds_magnitudes_where_fastmri_looks(tmp_path):
    write(made(slices=4, volumes=2), tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["reconstruction"].dtype == np.float32
        np.testing.assert_array_equal(file["reconstruction"], made(slices=4).magnitudes)
        np.testing.assert_array_equal(file["reconstruction_complex"], made(slices=4).images)
        assert file.attrs["volumes"] == 2
        np.testing.assert_array_equal(file.attrs["voxel_mm"], (5.0, 2.0, 1.5))
        np.testing.assert_array_equal(file.attrs["affine"], CORONAL)


def test_what_is_unknown_is_left_out(tmp_path):
    write(made(voxel=None, affine=None), tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(file.attrs) == {"volumes"}


def test_our_reader_finds_both_arrays(tmp_path):
    write(made(), tmp_path / "a.h5")
    assert set(inspect(tmp_path / "a.h5").arrays) == {"reconstruction", "reconstruction_complex"}
    np.testing.assert_array_equal(read(tmp_path / "a.h5", "reconstruction", 1, 3), made().magnitudes[1:])
    np.testing.assert_array_equal(read(tmp_path / "a.h5", "reconstruction_complex", 0, 3), made().images)


def test_an_output_is_not_taken_for_kspace(tmp_path):
    write(made(), tmp_path / "a.h5")
    with pytest.raises(DataError, match="images only"):
        open_raw_scan(tmp_path / "a.h5")
