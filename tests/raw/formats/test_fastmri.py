"""Files in fastMRI's layout, single- and multi-coil, complete and undersampled."""

import h5py
import numpy as np
import pytest
import torch

from raw.made import HEADER, coil_kspace, columns, picture, write_fastmri
from somamba.errors import DataError
from somamba.physics.fourier import fft2c, ifft2c
from somamba.raw.opening import open_raw_scan


def header(x, y, recon):
    fields = {"last": y - 1, "center": y // 2, "trajectory": "cartesian", "mode": "other"}
    return HEADER.format(x=x, y=y, recon_x=recon, view_x=2.0 * x, view_y=2.0 * y, recon_view=2.0 * recon, **fields)


def test_multicoil_kspace_is_read_slice_by_slice(tmp_path):
    kspace = np.stack([coil_kspace() * (1 + index) for index in range(3)])
    scan = open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=kspace))
    assert scan.volume.shape == kspace.shape
    assert scan.format == "fastMRI HDF5, multi-coil"
    np.testing.assert_array_equal(scan.kspace(2).numpy(), kspace[2])


def test_single_coil_kspace_gets_a_coil_axis(tmp_path):
    kspace = coil_kspace(1).repeat(3, axis=0)
    scan = open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=kspace))
    assert scan.volume.shape == (3, 1, 32, 24)
    np.testing.assert_array_equal(scan.kspace(1).numpy(), kspace[1:2])


def test_the_mask_of_a_test_file_is_applied(tmp_path):
    kspace = coil_kspace()[None]
    keep = columns(kspace, 4, 4).any(axis=(0, 1, 2))
    scan = open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=kspace, mask=keep))
    assert scan.sampling(0).mask.lines == tuple(np.flatnonzero(keep))


def test_the_readout_is_trimmed_as_the_header_says(tmp_path):
    wide = torch.zeros(1, 64, 24, dtype=torch.complex64)
    wide[0, 16:48] = picture(32, 24)
    path = write_fastmri(tmp_path / "a.h5", header=header(64, 24, 32), kspace=fft2c(wide).numpy())
    scan = open_raw_scan(path)
    assert scan.shape == scan.image_shape == (32, 24)
    assert (ifft2c(scan.kspace(0))[0] - picture(32, 24)).abs().max() < 1e-5
    assert scan.voxel == (5.0, 2.0, 2.0)
    assert "trimmed from 64 to 32 rows" in scan.notes[0]


def test_a_broken_header_is_no_reason_to_refuse_kspace(tmp_path):
    scan = open_raw_scan(write_fastmri(tmp_path / "a.h5", header="<ismrmrdHeader/>", kspace=coil_kspace()[None]))
    assert scan.voxel is None
    assert "not a whole ISMRMRD header" in scan.notes[0]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"reconstruction_rss": np.ones((2, 8, 8))}, "it holds images only"),
        ({"data": np.ones((2, 8, 8))}, "neither a fastMRI file.*nor an ISMRMRD file"),
        ({"kspace": np.ones((2, 8, 8))}, "type complex"),
        ({"kspace": np.ones((8, 8), dtype=complex)}, "4 axes"),
    ],
)
def test_files_without_kspace_are_refused_with_the_reason(arrays, words, tmp_path):
    with pytest.raises(DataError, match=words):
        open_raw_scan(write_fastmri(tmp_path / "a.h5", **arrays))


@pytest.mark.parametrize("name", ["mask", "sens_maps", "kspace"])
def test_a_file_that_links_to_its_mask_or_maps_is_refused(name, tmp_path):
    """A link is not followed; ignored, a mask would mean fully sampled."""
    path = write_fastmri(tmp_path / "a.h5", **({} if name == "kspace" else {"kspace": coil_kspace()[None]}))
    with h5py.File(path, "r+") as file:
        file["elsewhere"] = np.ones(24)
        file[name] = h5py.SoftLink("/elsewhere")
    with pytest.raises(DataError, match="must not be read"):
        open_raw_scan(path)


@pytest.mark.parametrize("ending", ["h5", "npz"])
def test_a_mask_under_another_name_is_not_passed_over_in_silence(ending, tmp_path):
    path, full = tmp_path / f"a.{ending}", coil_kspace()[None]
    if ending == "npz":
        np.savez(path, kspace=full, Mask=np.ones(24))
    else:
        write_fastmri(path, kspace=full, Mask=np.ones(24))
    (note,) = [note for note in open_raw_scan(path).notes if "Mask" in note]
    assert "was not used: the mask of the samples is called 'mask'" in note
