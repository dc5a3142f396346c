"""The door: every format by its content or name, everything else refused with advice, nothing crashes."""

import h5py
import pytest

from raw.made import coil_kspace, lines_of, write_fastmri, write_mrd
from somamba.errors import ConfigError, SomambaError
from somamba.raw.opening import open_raw_scan


def refused(path, **choices):
    with pytest.raises(SomambaError) as caught:
        open_raw_scan(path, **choices)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.mrd", b"yardl\x01\x00\x00", "MRD version 2 stream. Version 1 (ISMRMRD HDF5) is read"),
        ("a.dcm", bytes(128) + b"DICM", "DICOM image, a magnitude without k-space"),
        ("IM0001", bytes(128) + b"DICM", "dcm2niix"),
        ("b.IMA", b"no preamble", "DICOM image"),
        ("a.mat", b"MATLAB 5.0 MAT-file", "MATLAB 5 file"),
        ("meas.dat", bytes(300), "siemens_to_ismrmrd"),
        ("a.xyz", b"something", "its name does not tell what it is"),
        ("a.data", b"\x89HDF\r\n\x1a\n", "rename it to end in .h5"),
        ("a.H5", b"\x89HDF\r\n\x1a\n", "must be written .h5"),
        ("a.h5", b"", "the file is empty"),
        ("a.h5", b"no HDF5 at all", "damaged or not what its name says"),
        ("a.npz", b"PK\x03\x04 and nothing more", "damaged or not what its name says"),
        ("a.nii.gz", b"\x1f\x8b and nothing more", "damaged or not what its name says"),
    ],
)
def test_foreign_files_are_refused_with_advice(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    message = refused(tmp_path / name)
    assert words in message
    assert name in message


def test_missing_files_and_folders_are_named(tmp_path):
    assert "No such file" in refused(tmp_path / "missing.h5")
    assert "it is a folder" in refused(tmp_path)


def test_links_to_other_files_are_refused(tmp_path):
    write_fastmri(tmp_path / "secret.h5", kspace=coil_kspace()[None])
    write_mrd(tmp_path / "lines.h5", lines_of(coil_kspace()), (32, 24))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["kspace"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "kspace")
    assert "is a link, which could lead to another file" in refused(tmp_path / "a.h5")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["dataset"] = h5py.ExternalLink(str(tmp_path / "lines.h5"), "dataset")
    assert "'dataset' is a link" in refused(tmp_path / "b.h5")
    with h5py.File(tmp_path / "lines.h5", "a") as file:
        file["copy"] = file["dataset/data"]
        del file["dataset/data"]
        file["dataset/data"] = h5py.SoftLink("/copy")
    assert "'dataset/data' is a link" in refused(tmp_path / "lines.h5")


def test_declared_terabytes_are_refused_before_they_are_allocated(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("kspace", shape=(1 << 20, 1 << 12, 1 << 12), dtype="c8", chunks=(1, 64, 64))
    assert "131072 GiB" in refused(tmp_path / "a.h5")


def test_choices_that_do_not_apply_are_refused(tmp_path):
    path = write_mrd(tmp_path / "a.h5", lines_of(coil_kspace()), (32, 24))
    with pytest.raises(ConfigError, match="NumPy files only"):
        open_raw_scan(path, axes=("y", "x"))
    with pytest.raises(ConfigError, match="fixed by this format"):
        open_raw_scan(path, centred=True)


def test_several_measurements_in_one_file_are_refused(tmp_path):
    path = write_mrd(tmp_path / "a.h5", lines_of(coil_kspace()), (32, 24))
    with h5py.File(path, "a") as file:
        file.copy("dataset", "second")
    assert "several measurements (dataset, second)" in refused(path)


@pytest.mark.parametrize("name", ["phantom_m64_c4_a2_w12_mrdv2", "phantom_m64_c4_mrdv2_pypi211"])
def test_real_version_2_files_are_refused(shared_data, name):
    assert "MRD version 2" in refused(shared_data / "mrd" / "v2" / f"{name}.mrd")


def test_the_real_radial_archive_is_refused(shared_data):
    assert "do not lie on a grid" in refused(shared_data / "raw_kspace" / "brain_radial_5coil.npz")


def test_a_real_file_cut_short_is_refused(shared_data, tmp_path):
    whole = (shared_data / "mrd" / "odd_m127_c3.h5").read_bytes()
    (tmp_path / "a.h5").write_bytes(whole[: len(whole) // 2])
    assert "a.h5: it is damaged" in refused(tmp_path / "a.h5")
