"""NumPy outputs keep the complex values, and a pair of files that do not belong together is noticed."""

import json
import shutil

import numpy as np
import pytest

from full_disk import largest_file
from inference.writers.made import CORONAL, PROVENANCE, made
from somamba.durable import replace_file
from somamba.errors import DataError, StorageError
from somamba.inference.writers import numpy_file
from somamba.inference.writers.writing import read_provenance, read_result, write


def test_the_array_is_complex_and_exact(tmp_path):
    write(made(), tmp_path / "a.npy")
    values = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert values.dtype == np.complex64
    np.testing.assert_array_equal(values, made().images)


def test_the_record_beside_it_tells_everything_else(tmp_path):
    write(made(slices=4, volumes=2), tmp_path / "a.npy")
    record = json.loads((tmp_path / "a.npy.json").read_text())
    assert record["somamba"] == PROVENANCE
    assert (record["volumes"], record["voxel_mm"], record["affine"]) == (2, [5.0, 2.0, 1.5], CORONAL.tolist())


def test_an_array_with_the_record_of_another_is_damaged_or_not_ours(tmp_path):
    """An interrupted writer leaves an array with the record of the next one; another shape is somebody's own array."""
    write(made(), tmp_path / "a.npy")
    for other in (made(seed=1), made(slices=1)):
        write(other, tmp_path / f"{len(other.images)}.npy")
    shutil.copy(tmp_path / "3.npy", tmp_path / "a.npy")
    assert not read_result(tmp_path / "a.npy").intact()
    shutil.copy(tmp_path / "1.npy", tmp_path / "a.npy")
    with pytest.raises(DataError, match="does not say how it came about"):
        read_provenance(tmp_path / "a.npy")


def test_an_array_without_a_record_is_not_ours(tmp_path):
    np.save(tmp_path / "a.npy", made().images, allow_pickle=False)
    with pytest.raises(DataError, match="not written by somamba"):
        read_provenance(tmp_path / "a.npy")


def test_a_foreign_file_beside_an_array_that_is_not_there_is_not_replaced(tmp_path):
    (tmp_path / "a.npy.json").write_text('{"mine": 1}')
    with pytest.raises(StorageError, match="not written by somamba"):
        write(made(), tmp_path / "a.npy")
    assert (tmp_path / "a.npy.json").read_text() == '{"mine": 1}'
    assert not (tmp_path / "a.npy").exists()


def test_a_kill_between_the_two_files_leaves_nothing_that_passes_for_somebody_elses(tmp_path, monkeypatch):
    class Kill(BaseException):
        pass

    def once(*arguments, **options):
        replace_file(*arguments, **options)
        raise Kill

    monkeypatch.setattr(numpy_file, "replace_file", once)
    with pytest.raises(Kill):
        write(made(), tmp_path / "a.npy")
    monkeypatch.undo()
    write(made(), tmp_path / "a.npy")
    assert read_result(tmp_path / "a.npy").intact()


@pytest.mark.parametrize("former", [True, False])
def test_without_room_for_the_array_what_was_there_before_is_untouched(former, tmp_path):
    if former:
        write(made(), tmp_path / "a.npy")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # The record beside it is shorter than the array.
    with (
        largest_file(made().images.nbytes - 1),
        pytest.raises(StorageError, match=r"a\.npy could not be written: File too large"),
    ):
        numpy_file.write_npy(made(seed=1), tmp_path / "a.npy")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
