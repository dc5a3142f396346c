"""fastMRI: only fully sampled files of the wanted acquisition."""

import h5py
import numpy as np
import pytest
import torch

from somamba.data.case import LeftOut
from somamba.data.catalog import DATASETS
from somamba.data.phantom import write_phantom
from somamba.data.readers.fastmri import MULTICOIL
from somamba.errors import DataError
from somamba.physics.fourier import ifft2c

READER = DATASETS["fastmri"]


@pytest.fixture
def root(tmp_path):
    write_phantom("fastmri", tmp_path, cases={"train": 1, "test": 1})
    return tmp_path


def entry(root, name="file1000001"):
    return next(found for found in READER.find(root).entries if found.id == name)


def test_files_without_fat_suppression_are_left_out_with_the_reason(root):
    found = READER.open_case(entry(root, "file1090000"))
    assert found == LeftOut(name="file1090000", reason="acquisition CORPD_FBK, not CORPDFS_FBK")


def test_official_test_files_are_left_out(root):
    listing = READER.find(root)
    assert [item.name for item in listing.left_out] == ["file1000000.h5"]
    assert "without a target" in listing.left_out[0].reason


def test_a_file_that_does_not_tell_its_acquisition_is_refused(root):
    with h5py.File(entry(root).files[0], "r+") as file:
        del file.attrs["acquisition"]
    with pytest.raises(DataError, match="no attribute 'acquisition'"):
        READER.open_case(entry(root))


@pytest.mark.parametrize("kind", [bool, np.float32])
def test_undersampled_files_are_refused(root, kind):
    with h5py.File(entry(root).files[0], "r+") as file:
        file["mask"] = np.ones(24, kind)
    with pytest.raises(DataError, match="sampling 'mask'"):
        READER.open_case(entry(root))


def test_single_coil_files_have_three_axes(root):
    multicoil = DATASETS["fastmri_multicoil"]
    with pytest.raises(DataError, match=r"'kspace' should have 4 axes and type complex; it has shape \(4, 64, 24\)"):
        multicoil.open_case(entry(root))


def test_missing_targets_are_refused_by_name(root):
    with h5py.File(entry(root).files[0], "r+") as file:
        del file["reconstruction_rss"]
    with pytest.raises(DataError, match="no array 'reconstruction_rss'; found kspace"):
        READER.open_case(entry(root))


def test_the_target_is_the_centre_of_the_image_of_kspace(root):
    case = READER.open_case(entry(root))
    image = ifft2c(torch.from_numpy(case.kspace.slice(1)))[0].abs()[16:48].numpy()
    np.testing.assert_allclose(case.image.slice(1), image, rtol=1e-4, atol=1e-3)


def test_validation_files_are_tested_on():
    assert MULTICOIL == {"multicoil_train": "train", "multicoil_val": "test"}
