"""Whatever the format: what is written says how it came about, whole or not at all, and never over foreign files."""

import json
import os
import random
import warnings
from contextlib import suppress

import h5py
import pytest

from inference.writers.made import PROVENANCE, made
from somamba.errors import ConfigError, DataError, MissingExtraError, StorageError, UnknownNameError
from somamba.inference.writers.writing import FORMATS, read_provenance, read_result, write
from test_durable import largest_file

PLACES = [
    *(("h5", "a.h5"), ("h5", "a.hdf5"), ("nii", "a.nii"), ("nii", "a.nii.gz"), ("npy", "a.npy")),
    *(("png", "a.png"), ("dcm", "a"), ("dcm", "a.dcm")),
]


def small(place, **choices):
    """A DICOM file holds one slice."""
    return made(slices=1 if place.endswith(".dcm") else 4, **choices)


def everything(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_format_is_tried_here():
    assert {name for name, _ in PLACES} == set(FORMATS)


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_the_provenance_comes_back_whole(name, place, tmp_path):
    path = tmp_path / "deep" / place
    assert read_provenance(path, name) is None
    write(small(place), path, name)
    assert read_provenance(path, name) == PROVENANCE


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_the_same_reconstruction_gives_the_same_bytes(name, place, tmp_path):
    for folder in ("first", "second"):
        write(small(place), tmp_path / folder / place, name)
    assert everything(tmp_path / "first") == everything(tmp_path / "second")


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_an_older_output_is_replaced_and_nothing_else_is_left(name, place, tmp_path):
    write(small(place, seed=1), tmp_path / place, name)
    before = everything(tmp_path)
    write(small(place), tmp_path / place, name)
    assert everything(tmp_path).keys() == before.keys()
    assert everything(tmp_path) != before


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_full_disk_keeps_the_old_output(name, place, tmp_path):
    write(small(place, seed=1), tmp_path / place, name)
    before = everything(tmp_path)
    # Not `write`, which reads what is there: the limit would hold for the shared memory of the reading process, too.
    with largest_file(100), pytest.raises(StorageError, match="are free there"):
        FORMATS[name].write(small(place), tmp_path / place)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_place_that_cannot_be_written_is_named(name, place, tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(StorageError, match=rf"file/{place}(\.json)? could not be written: .*: .*/file"):
        write(small(place), tmp_path / "file" / place, name)
    assert everything(tmp_path).keys() == {(tmp_path / "file").relative_to(tmp_path)}


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_foreign_files_are_never_replaced(name, place, tmp_path):
    if place == "a":
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "0001.dcm").write_bytes(b"mine")
    else:
        (tmp_path / place).write_bytes(b"mine")
    before = everything(tmp_path)
    with pytest.raises(DataError, match=r"not written by somamba|damaged"):
        read_provenance(tmp_path / place, name)
    with pytest.raises(StorageError, match="not replaced: move it away"):
        write(small(place), tmp_path / place, name)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_damaged_output_is_not_taken_for_done(name, place, tmp_path):
    write(small(place), tmp_path / place, name)
    path = tmp_path / place
    (path / "0001.dcm" if path.is_dir() else path).write_bytes(b"\x89")
    with pytest.raises(DataError):
        read_provenance(path, name)


def flip(path, where):
    """Invert one byte of a file, or of the last file of a folder."""
    file = sorted(path.iterdir())[-1] if path.is_dir() else path
    content = bytearray(file.read_bytes())
    content[where(content)] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_result_is_intact_until_a_pixel_changes(name, place, tmp_path):
    path = tmp_path / place
    write(small(place), path, name)
    assert read_result(path, name).intact()
    if place == "a.png":
        flip(path, lambda content: content.index(b"IDAT") + 12)
    elif name == "h5":
        with h5py.File(path, "r+") as file:
            file["reconstruction"][...] = 0
    else:
        flip(path, lambda content: len(content) - 20)
    result = read_result(path, name)
    assert result.provenance == PROVENANCE
    assert not result.intact()


def test_a_series_that_lost_a_file_is_not_intact(tmp_path):
    write(made(), tmp_path / "a", "dcm")
    assert read_result(tmp_path / "a", "dcm").intact()
    (tmp_path / "a" / "0002.dcm").unlink()
    assert not read_result(tmp_path / "a", "dcm").intact()


def test_the_complex_pixels_of_hdf5_are_checked_too(tmp_path):
    write(made(), tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["reconstruction_complex"][0, 0, 0] += 1
    assert not read_result(tmp_path / "a.h5").intact()


def test_results_of_earlier_versions_are_read_but_not_taken_for_intact(tmp_path):
    """They have no digest."""
    write(made(), tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        del file["provenance"]
        file["provenance"] = json.dumps({"somamba": PROVENANCE})
    result = read_result(tmp_path / "a.h5")
    assert (result.provenance, result.intact()) == (PROVENANCE, False)


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    write(made(), tmp_path / "a", "dcm")
    (tmp_path / "a" / "report.pdf").write_bytes(b"mine")
    with pytest.raises(StorageError, match="not replaced"):
        write(made(), tmp_path / "a", "dcm")


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "a").mkdir()
    assert read_provenance(tmp_path / "a", "dcm") is None
    write(made(), tmp_path / "a", "dcm")
    assert len(everything(tmp_path)) == 3


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "a.npy").mkdir()
    with pytest.raises(StorageError, match="not replaced"):
        write(made(), tmp_path / "a.npy")


@pytest.mark.parametrize("place", ["a.jpg", "a", "a.mat"])
def test_an_unknown_ending_lists_the_known_ones(place, tmp_path):
    with pytest.raises(ConfigError, match=r"tells no format. Name it \.h5, \.hdf5, \.nii\.gz"):
        write(made(), tmp_path / place)
    assert everything(tmp_path) == {}


@pytest.mark.parametrize(("name", "place"), [("png", "a.h5"), ("h5", "a"), ("dcm", "a.nii.gz")])
def test_an_ending_that_contradicts_the_format_is_refused(name, place, tmp_path):
    with pytest.raises(ConfigError, match=f"an output of format '{name}' must end in"):
        write(made(), tmp_path / place, name)


def test_an_unknown_format_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'nii'"):
        write(made(), tmp_path / "a.nii", "nifti")


def test_dicom_without_its_package_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("somamba.extras.installed", lambda module: module != "pydicom")
    with pytest.raises(MissingExtraError, match=r"pip install 'somamba\[dicom\]'"):
        write(made(), tmp_path / "a", "dcm")
    assert everything(tmp_path) == {}


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_pipe_in_the_place_of_a_result_is_refused_at_once(name, place, tmp_path):
    os.mkfifo(tmp_path / place)
    with pytest.raises(DataError, match="named pipe"):
        read_result(tmp_path / place, name)


def flipped(path, place, bit):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize(("name", "place"), [entry for entry in PLACES if entry[0] != "png"])
def test_no_flipped_bit_goes_unnoticed_wherever_it_is(name, place, tmp_path):
    """Orientation and voxel size count as much as pixels: a mirrored result must not pass for done."""
    path, draw = tmp_path / place, random.Random(3)
    write(small(place), path, name)
    assert read_result(path, name).intact()
    file = sorted(path.iterdir())[0] if path.is_dir() else tmp_path / f"{place}.json" if name == "npy" else path
    good = file.read_bytes()
    for _ in range(150):
        # The head of a gzip file tells time and system, not content.
        flipped(file, draw.randrange(10 if place.endswith(".gz") else 0, len(good)), draw.randrange(8))
        with warnings.catch_warnings(), suppress(DataError):
            warnings.simplefilter("ignore")  # pydicom tells what it finds odd
            assert not read_result(path, name).intact()
        file.write_bytes(good)
    assert read_result(path, name).intact()


def test_the_orientation_of_a_result_is_part_of_it(tmp_path):
    write(made(), tmp_path / "a.nii")
    flipped(tmp_path / "a.nii", 280 + 3, 7)  # the sign of the first number of the affine
    assert not read_result(tmp_path / "a.nii").intact()
