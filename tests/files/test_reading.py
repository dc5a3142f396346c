"""Files of strangers are read correctly or refused with a reason; they never crash, hang or lead elsewhere."""

import io
import os
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from files.made import hdf5
from raw.made import acquisition, coil_kspace, lines_of, write_mrd
from somamba.data.case import Entry
from somamba.data.readers import fastmri, m4raw
from somamba.errors import DataError
from somamba.files import reading
from somamba.files.reading import ArrayInfo, FileInfo
from somamba.raw.formats.numpy_files import MAPS_KEYS, TRAJECTORY_KEYS
from somamba.raw.opening import open_raw_scan


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


KSPACE = coil_kspace()[None]


def soft_link(file, name, array):
    file["elsewhere"] = array
    file[name] = h5py.SoftLink("/elsewhere")


def external_link(file, name, _array):
    file[name] = h5py.ExternalLink("other.h5", name)


def external_storage(file, name, array):
    file.create_dataset(name, array.shape, array.dtype, external=[("other", 0, array.nbytes)])


def virtual(file, name, array):
    layout = h5py.VirtualLayout(array.shape, array.dtype)
    layout[...] = h5py.VirtualSource("other.h5", name, array.shape)
    file.create_virtual_dataset(name, layout)


def plugin(file, name, array):
    # Filter 32015 is zstd. Nothing is written, so no plugin is needed to make the file.
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(array.shape)
    plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    kind, space = h5py.h5t.py_create(array.dtype), h5py.h5s.create_simple(array.shape)
    h5py.h5d.create(file.id, name.encode(), kind, space, plist)


def texts(file, name, _array):
    file[name] = ["1", "0"]


def group(file, name, array):
    file.create_group(name)["values"] = array


def nothing(file, name, _array):
    file[name] = h5py.Empty("f4")


def bomb(file, name, _array):
    file.create_dataset(name, (64, 1 << 24), "c8", chunks=(1, 1 << 20), compression="gzip")


HDF5 = (soft_link, external_link, external_storage, virtual, plugin, texts, group, nothing, bomb)


def refusing_hdf5(path: Path, name: str, refused, **arrays) -> Path:
    with h5py.File(path, "w") as file:
        for key, array in arrays.items():
            if key != name:
                file[key] = array
        refused(file, name, arrays.get(name, np.ones((3, 32, 24), np.complex64)))
    return path


@pytest.mark.parametrize("refused", HDF5)
@pytest.mark.parametrize("name", ["kspace", "mask", "csm"])
def test_a_wanted_member_of_a_scan_refuses_it(name, refused, tmp_path):
    path = refusing_hdf5(tmp_path / "a.h5", name, refused, kspace=KSPACE, mask=np.ones(24))
    with pytest.raises(DataError, match=rf"a\.h5: its '{name}' must not be read: "):
        open_raw_scan(path)


@pytest.mark.parametrize("name", [*MAPS_KEYS, *TRAJECTORY_KEYS, "ismrmrd_header"])
def test_every_wanted_name_refuses_a_scan(name, tmp_path):
    path = refusing_hdf5(tmp_path / "a.h5", name, soft_link, kspace=KSPACE, maps=np.ones((3, 32, 24), np.complex64))
    with pytest.raises(DataError, match=f"its '{name}' must not be read: '{name}' is a link"):
        open_raw_scan(path)


@pytest.mark.parametrize("refused", HDF5)
@pytest.mark.parametrize("name", ["kspace", "mask", "reconstruction_rss"])
def test_a_wanted_member_refuses_a_case_of_a_dataset(name, refused, tmp_path):
    images = np.ones((1, 32, 24), np.float32)
    path = refusing_hdf5(tmp_path / "a.h5", name, refused, kspace=KSPACE, reconstruction_rss=images)
    entry = Entry(id="a", subject="a", role="train", files=(path,), root=tmp_path)
    with pytest.raises(DataError, match=f"its '{name}' must not be read"):
        fastmri.open_case(entry, multicoil=True, acquisition=None)
    if name != "mask":
        with pytest.raises(DataError, match=f"its '{name}' must not be read"):
            m4raw.open_case(entry)


def test_an_attribute_that_must_not_be_read_is_not_taken_for_a_missing_one(tmp_path):
    path = refusing_hdf5(tmp_path / "a.h5", "other", soft_link, kspace=KSPACE)
    with h5py.File(path, "a") as file:
        file.attrs["acquisition"] = ["CORPDFS_FBK", "CORPD_FBK"]
    entry = Entry(id="a", subject="a", role="train", files=(path,), root=tmp_path)
    with pytest.raises(DataError, match=r"'acquisition' must not be read: 'acquisition' should be one text"):
        fastmri.open_case(entry, multicoil=True, acquisition="CORPDFS_FBK")


@pytest.mark.parametrize("member", ["data", "xml"])
def test_acquisitions_that_must_not_be_read_refuse_a_file_that_has_kspace_too(member, tmp_path):
    path = write_mrd(tmp_path / "a.h5", [*lines_of(KSPACE[0]), acquisition(np.ones((3, 32)))], (32, 24))
    with h5py.File(path, "a") as file:
        file["kspace"] = KSPACE
        file["elsewhere"] = file[f"dataset/{member}"]
        del file[f"dataset/{member}"]
        file[f"dataset/{member}"] = h5py.SoftLink("/elsewhere")
    with pytest.raises(DataError, match=f"'dataset/{member}' is a link"):
        open_raw_scan(path)


def test_a_member_beyond_the_last_one_that_is_looked_at_refuses_the_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["kspace"] = KSPACE
        for number in range(256):
            file[f"a{number}"] = 0.0
        file["mask"] = np.ones(24)
    with pytest.raises(DataError, match="258 members"):
        open_raw_scan(tmp_path / "a.h5")


def npy(array, **options) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


PICKLED = npy(np.array([{}], dtype=object), allow_pickle=True)
NPZ = {
    "pickled": ("{}.npy", PICKLED, zipfile.ZIP_STORED),
    "lzma": ("{}.npy", npy(np.ones(24)), zipfile.ZIP_LZMA),
    "bzip2": ("{}.npy", npy(np.ones(24)), zipfile.ZIP_BZIP2),
    "without an ending": ("{}", npy(np.ones(24)), zipfile.ZIP_STORED),
    "cut short": ("{}.npy", npy(np.ones(24))[:-1], zipfile.ZIP_STORED),
    "no array": ("{}.npy", b"no array", zipfile.ZIP_STORED),
    "empty": ("{}.npy", b"", zipfile.ZIP_STORED),
    "text": ("{}.npy", npy(np.array(["1", "0"])), zipfile.ZIP_STORED),
    "no values": ("{}.npy", npy(np.ones((0, 24))), zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("kind", NPZ)
@pytest.mark.parametrize("name", ["kspace", "mask", "sens_maps", "traj"])
def test_a_wanted_member_of_an_archive_refuses_it(name, kind, tmp_path):
    member, content, compression = NPZ[kind]
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        if name != "kspace":
            archive.writestr("kspace.npy", npy(KSPACE))
        archive.writestr("noise.npy", npy(KSPACE))
        archive.writestr(member.format(name), content, compression)
    with pytest.raises(DataError, match=rf"a\.npz: its '{name}' must not be read"):
        open_raw_scan(tmp_path / "a.npz")


def test_kspace_without_its_name_is_not_guessed_if_a_member_was_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("data.npy", PICKLED)
        archive.writestr("noise.npy", npy(KSPACE))
    with pytest.raises(DataError, match="k-space cannot be told by its name, and 'data' must not be read"):
        open_raw_scan(tmp_path / "a.npz")


def test_members_that_nobody_asks_for_do_no_harm(tmp_path):
    path = refusing_hdf5(tmp_path / "a.h5", "notes", texts, kspace=KSPACE)
    assert open_raw_scan(path).slices == 1


def test_a_table_of_contents_answers_or_refuses():
    info = FileInfo(Path("a.h5"), {"b": ArrayInfo((2,), np.dtype("f4"))}, {"c": "text"}, {"d": "it is a link"})
    assert (list(info.arrays), len(info.arrays), info.texts.get("c"), info.arrays.get("e")) == (["b"], 1, "text", None)
    for ask in (info.arrays.get, info.texts.get, info.arrays.__contains__, info.texts.__getitem__):
        with pytest.raises(DataError, match="its 'd' must not be read: it is a link"):
            ask("d")
    with pytest.raises(DataError, match="no array 'e'; found b"):
        info.array("e", axes=1, kinds="f")
    with pytest.raises(DataError, match="should have 2 axes and type complex"):
        info.array("b", axes=2, kinds="c")
