"""CC359: uncentred two-dimensional k-space becomes centred without losing a bit."""

import h5py
import numpy as np
import pytest
import torch

from somamba.data.catalog import DATASETS
from somamba.data.phantom import write_phantom
from somamba.errors import DataError
from somamba.physics.fourier import ifft2c

SINGLE, MULTI = DATASETS["cc359"], DATASETS["cc359_multicoil"]


def save(root, array):
    path = root / "Train" / "e14080s3_P18944.7.npy"
    path.parent.mkdir(exist_ok=True)
    np.save(path, array)
    return SINGLE.find(root).entries[0]


def test_the_image_is_the_unshifted_inverse_transform_of_the_file(tmp_path):
    stored = np.random.default_rng(1).normal(size=(2, 18, 20, 2)).astype(np.float32)
    case = SINGLE.open_case(save(tmp_path, stored))
    expected = np.fft.ifft2(stored[1, ..., 0] + 1j * stored[1, ..., 1], norm="ortho")
    np.testing.assert_allclose(ifft2c(torch.from_numpy(case.kspace.slice(1)))[0].numpy(), expected, atol=1e-5)


def test_channels_are_interleaved_in_the_multichannel_files(tmp_path):
    write_phantom("cc359_multicoil", tmp_path, cases={"train": 1}, slices=2)
    entry = MULTI.find(tmp_path).entries[0]
    with h5py.File(entry.files[0]) as file:
        stored = file["kspace"][()]
    case = MULTI.open_case(entry)
    assert case.kspace.shape == (2, 12, 32, 24)
    expected = np.fft.ifft2(stored[0, ..., 6] + 1j * stored[0, ..., 7], norm="ortho")
    image = ifft2c(torch.from_numpy(case.kspace.slice(0)))[3].numpy()
    np.testing.assert_allclose(image, expected, atol=1e-3)


def test_the_name_keeps_its_dots(tmp_path):
    assert save(tmp_path, np.zeros((1, 8, 8, 2), np.float32)).id == "e14080s3_P18944.7"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 8, 8, 3), np.float32), "last axis should hold real and imaginary parts, it has length 3"),
        (np.zeros((2, 9, 8, 2), np.float32), "9 x 8 is odd"),
        (np.zeros((2, 8, 8), np.complex64), "should have 4 axes and type float"),
    ],
)
def test_other_layouts_are_refused(tmp_path, array, message):
    with pytest.raises(DataError, match=message):
        SINGLE.open_case(save(tmp_path, array))


def test_the_official_test_folder_is_left_out(tmp_path):
    save(tmp_path, np.zeros((1, 8, 8, 2), np.float32))
    (tmp_path / "Test").mkdir()
    np.save(tmp_path / "Test" / "other.npy", np.zeros(3))
    listing = SINGLE.find(tmp_path)
    assert (len(listing.entries), [item.name for item in listing.left_out]) == (1, ["other.npy"])
