"""Raw scans in a folder of a user's own: k-space as it was measured, images of it, and no undersampled slice."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from raw.made import columns, lines_of, write_fastmri, write_mrd
from somamba.data.catalog import DATASETS
from somamba.data.check import check_dataset
from somamba.data.config import DataConfig
from somamba.data.prepare import prepare
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.slices import open_slices
from somamba.errors import ConfigError, DataError
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.fourier import fft2c, ifft2c

READER = DATASETS["folder"]
VOLUME = np.random.default_rng(0).uniform(0, 100, (3, 20, 18)).astype(np.float32)
RAW = DataConfig(dataset="folder", protocol="raw")


def kspace():
    """Fully sampled k-space (slices, coils, y, x) of the volume, whose root sum of squares is the volume."""
    images = VOLUME[:, None] * np.array([0.6, 0.8], np.float32)[:, None, None]
    return fft2c(torch.from_numpy(images).to(torch.complex64)).numpy()


def write_scan(path, samples):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [line for number, one in enumerate(samples) for line in lines_of(one, slice=number)]
    return write_mrd(path, lines, samples.shape[-2:])


def opened(folder):
    (entry,) = READER.find(folder).entries
    return READER.open_case(entry)


@pytest.mark.parametrize("name", ["scan.h5", "scan.mrd"])
def test_readouts_become_the_kspace_that_was_measured(tmp_path, name):
    write_scan(tmp_path / name, kspace())
    case = opened(tmp_path)
    assert case.image is None
    np.testing.assert_array_equal(case.kspace.read(1, 3), kspace()[1:])
    np.testing.assert_array_equal(prepare(case, RAW).array, kspace())


def test_magnitude_learns_from_the_root_sum_of_squares(tmp_path):
    write_scan(tmp_path / "scan.h5", kspace())
    images = prepare(opened(tmp_path), DataConfig(dataset="folder", size=(20, 18))).array
    low, high = (bound(VOLUME, axis=(1, 2), keepdims=True) for bound in (np.min, np.max))
    np.testing.assert_allclose(images, (VOLUME - low) / (high - low), atol=1e-5)


def test_fastmris_layout_may_hold_kspace_alone(tmp_path):
    write_fastmri(tmp_path / "scan.h5", kspace=kspace())
    case = opened(tmp_path)
    image = root_sum_of_squares(ifft2c(torch.from_numpy(case.kspace.read(0, 3))))[:, 0]
    np.testing.assert_allclose(image, VOLUME, rtol=1e-4, atol=1e-3)


def test_the_images_of_a_file_stand_beside_its_kspace(tmp_path):
    write_fastmri(
        tmp_path / "scan.h5", kspace=kspace(), reconstruction_rss=VOLUME[:, 2:-2], reconstruction_esc=VOLUME + 1
    )
    case = opened(tmp_path)
    np.testing.assert_array_equal(case.image.slice(0), VOLUME[0, 2:-2])
    np.testing.assert_array_equal(case.kspace.slice(1), kspace()[1])
    assert prepare(case, RAW).array.shape == (3, 2, 16, 18)


def test_missing_rows_are_undersampling_too(tmp_path):
    samples = kspace()
    samples[:, :, 4] = 0
    write_fastmri(tmp_path / "scan.h5", kspace=samples, reconstruction_rss=VOLUME)
    with pytest.raises(DataError, match="slice 1 is undersampled"):
        opened(tmp_path)


@pytest.mark.parametrize("write", [write_scan, lambda path, samples: write_fastmri(path, kspace=samples)])
def test_undersampled_kspace_is_refused(tmp_path, write):
    write(tmp_path / "scan.h5", columns(kspace(), 2, 4))
    with pytest.raises(DataError, match=r"slice 1 is undersampled \(every 2nd column and the centre, x1"):
        opened(tmp_path)


def test_a_single_undersampled_slice_is_refused_when_it_is_read(tmp_path):
    samples = kspace()
    samples[2] = columns(samples[2], 3, 4)
    write_scan(tmp_path / "scan.h5", samples)
    case = opened(tmp_path)
    assert case.kspace.read(0, 2).any()
    with pytest.raises(DataError, match="slice 2 is undersampled"):
        prepare(case, RAW)
    assert "slice 2" in check_dataset("folder", tmp_path, quick=False).unusable[0]


def test_columns_that_no_slice_has_are_no_undersampling(tmp_path):
    samples = kspace()
    samples[..., :5] = 0
    write_scan(tmp_path / "scan.h5", samples)
    np.testing.assert_array_equal(opened(tmp_path).kspace.read(0, 3), samples)


def test_a_check_says_what_was_understood(tmp_path):
    write_scan(tmp_path / "anna" / "scan.mrd", kspace())
    write_scan(tmp_path / "berta" / "scan.h5", kspace())
    notes = " ".join(check_dataset("folder", tmp_path, quick=True).notes)
    assert "2 subjects" in notes
    assert "A raw scan (ISMRMRD (MRD version 1)): protocol raw learns from its k-space. (2 cases)" in notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"augmentation": Augmentation()}, "has its own coils"),
        ({"mask": "golden-radial", "masks": "fixed"}, "central columns"),
    ],
    ids=["augmentation", "maps"],
)
def test_what_measured_kspace_cannot_give_is_refused(tmp_path, changes, message):
    write_scan(tmp_path / "scan.h5", kspace())
    config = replace(RAW, combine="sense", **changes)
    with pytest.raises(ConfigError, match=message):
        prepare(opened(tmp_path), config)


def test_kspace_keeps_its_size_and_images_beside_it_get_theirs(tmp_path):
    write_scan(tmp_path / "train" / "a" / "scan.h5", kspace())
    np.save(tmp_path / "train" / "image.npy", VOLUME)
    config = replace(RAW, path=str(tmp_path), cache=str(tmp_path.with_name("cache")))
    assert sorted(case.shape for case in open_slices(config, "train").cases) == [(3, 2, 20, 18), (3, 192, 192)]
    smaller = replace(config, size=(16, 16))
    assert sorted(case.shape for case in open_slices(smaller, "train").cases) == [(3, 2, 16, 16), (3, 16, 16)]
