"""HDF5 files are read without ever leaving them, and within the limits."""

import h5py
import numpy as np
import pytest

from files.made import hdf5
from somamba.errors import DataError
from somamba.files import reading


def test_soft_and_external_links_are_refused(tmp_path):
    secret = hdf5(tmp_path / "secret.h5", kspace=np.ones((2, 2)))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["kspace"] = h5py.ExternalLink(str(secret), "kspace")
        file["real"] = np.zeros((2, 2))
        file["soft"] = h5py.SoftLink("/real")
    for name in ("kspace", "soft"):
        with pytest.raises(DataError, match="is a link"):
            reading.read(tmp_path / "a.h5", name, 0, 1)
    with pytest.raises(DataError, match=r"'kspace' must not be read: .* is a link"):
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
    with pytest.raises(DataError, match="would unpack 0 bytes"):
        reading.read(tmp_path / "bomb.h5", "kspace", 0, 64)
