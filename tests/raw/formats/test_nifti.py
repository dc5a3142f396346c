"""NIfTI magnitudes: k-space is simulated, and that is said."""

import nibabel
import numpy as np
import pytest

from somamba.errors import ConfigError
from somamba.physics.fourier import ifft2c
from somamba.raw.opening import open_raw_scan

AFFINE = np.array([[0, 0, 3.0, -9], [2.0, 0, 0, 5], [0, 1.5, 0, 1], [0, 0, 0, 1]])


def written(path, shape):
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    nibabel.Nifti1Image(values, AFFINE).to_filename(path)
    return values


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_the_simulated_kspace_is_that_of_the_image(name, tmp_path):
    values = written(tmp_path / name, (6, 8, 3))
    scan = open_raw_scan(tmp_path / name)
    assert scan.simulated
    assert "not a measurement" in scan.notes[0]
    assert (scan.slices, scan.coils, scan.shape) == (3, 1, (8, 6))
    for index in (2, 0, 1):
        np.testing.assert_allclose(ifft2c(scan.kspace(index))[0].numpy(), values[:, :, index].T, atol=1e-6)


def test_orientation_and_voxel_size_are_kept(tmp_path):
    written(tmp_path / "a.nii.gz", (6, 8, 3))
    scan = open_raw_scan(tmp_path / "a.nii.gz")
    np.testing.assert_allclose(scan.affine, AFFINE)
    assert scan.voxel == (3.0, 1.5, 2.0)


def test_a_series_is_counted_volume_by_volume(tmp_path):
    values = written(tmp_path / "a.nii.gz", (6, 8, 3, 2))
    scan = open_raw_scan(tmp_path / "a.nii.gz")
    assert (scan.slices, scan.volumes) == (6, 2)
    np.testing.assert_allclose(ifft2c(scan.kspace(4))[0].numpy(), values[:, :, 1, 1].T, atol=1e-6)
    np.testing.assert_allclose(scan.volume.read(1, 5)[2], scan.kspace(3).numpy())


def test_a_single_image_is_one_slice(tmp_path):
    values = written(tmp_path / "a.nii", (6, 8))
    scan = open_raw_scan(tmp_path / "a.nii")
    np.testing.assert_allclose(ifft2c(scan.kspace(0))[0].numpy(), values.T, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_an_affine_that_makes_no_sense_is_unknown(bad, tmp_path):
    written(tmp_path / "a.nii", (6, 8, 3))
    content = bytearray((tmp_path / "a.nii").read_bytes())
    # srow_x, srow_y and srow_z of the header.
    content[280:328] = np.full(12, bad, dtype="<f4").tobytes()
    (tmp_path / "a.nii").write_bytes(content)
    scan = open_raw_scan(tmp_path / "a.nii")
    assert scan.affine is None
    assert scan.slices == 3


def test_centring_cannot_be_chosen_for_an_image(tmp_path):
    written(tmp_path / "a.nii", (6, 8, 3))
    with pytest.raises(ConfigError, match="fixed by this format"):
        open_raw_scan(tmp_path / "a.nii", centred=False)
