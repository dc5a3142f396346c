"""Members of a .npz are read in parts, whole rows only, and never run."""

import zipfile

import numpy as np
import pytest

from somamba.errors import DataError
from somamba.files import reading

ARRAY = np.arange(24, dtype=np.float32).reshape(4, 3, 2)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", [ARRAY, np.asfortranarray(ARRAY), ARRAY.astype(">f4")])
def test_rows_of_a_member_are_those_of_the_array(save, array, tmp_path):
    save(tmp_path / "a.npz", other=np.ones(3), values=array)
    np.testing.assert_array_equal(reading.read(tmp_path / "a.npz", "values", 1, 3), ARRAY[1:3])
    assert reading.inspect(tmp_path / "a.npz").arrays["values"].shape == (4, 3, 2)


def test_objects_are_refused_without_being_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", values=ARRAY, objects=np.array([{}, None], dtype=object))
    assert "is not a number" in reading.inspect(tmp_path / "a.npz").refused["objects"]
    with pytest.raises(DataError, match="is not a number"):
        reading.read(tmp_path / "a.npz", "objects", 0, 1)


def test_a_member_that_declares_more_than_it_holds_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", (tmp_path / "a.npy").read_bytes()[:-8])
    with pytest.raises(DataError, match="96 bytes were declared, 88 are there"):
        reading.read(tmp_path / "a.npz", "values", 3, 4)
    with pytest.raises(DataError, match="damaged"):
        reading.read(tmp_path / "a.npz", "missing", 0, 1)


def test_rows_are_read_in_any_order_and_after_the_file_has_changed(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", values=ARRAY, others=-ARRAY)
    for name, row in [("values", 3), ("values", 0), ("others", 1), ("values", 2)]:
        wanted = ARRAY[row : row + 1] if name == "values" else -ARRAY[row : row + 1]
        np.testing.assert_array_equal(reading.read(tmp_path / "a.npz", name, row, row + 1), wanted)
    np.savez_compressed(tmp_path / "a.npz", values=ARRAY + 100)
    np.testing.assert_array_equal(reading.read(tmp_path / "a.npz", "values", 3, 4), ARRAY[3:4] + 100)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_numpy_does_not_write_are_refused(compression, tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", compression) as archive:
        archive.write(tmp_path / "a.npy", "values.npy")
    assert "which numpy does not write" in reading.inspect(tmp_path / "a.npz").refused["values"]
    with pytest.raises(DataError, match="numpy does not write"):
        reading.read(tmp_path / "a.npz", "values", 0, 1)


def test_two_members_of_one_name_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.write(tmp_path / "a.npy", "values.npy")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.write(tmp_path / "a.npy", "values.npy")
    with pytest.raises(DataError, match="several members named"):
        reading.inspect(tmp_path / "a.npz")
