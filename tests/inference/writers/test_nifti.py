"""NIfTI outputs lie in the patient where the affine says, and our own reader reads them back."""

import nibabel
import numpy as np
import pytest

from inference.writers.made import CORONAL, made, tilted_affine
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.writing import write
from somamba.physics.fourier import ifft2c
from somamba.raw.opening import open_raw_scan


def test_the_brightest_pixel_lies_where_the_affine_puts_it(tmp_path):
    """Row 1, column 4 of slice 0: 6 mm to the left of the first pixel, 2 mm below it."""
    write(made(), tmp_path / "a.nii.gz")
    image = nibabel.load(tmp_path / "a.nii.gz")
    brightest = np.unravel_index(np.argmax(image.get_fdata()), image.shape)
    assert brightest == (4, 1, 0)
    np.testing.assert_allclose(image.affine @ [*brightest, 1], [20 - 4 * 1.5, -7, 11 - 2, 1])
    assert nibabel.aff2axcodes(image.affine) == ("L", "I", "A")


def test_a_viewer_that_turns_to_canonical_axes_sees_it_upright(tmp_path):
    """To right, anterior, superior: columns are flipped, rows are flipped and come last."""
    write(made(), tmp_path / "a.nii")
    turned = nibabel.as_closest_canonical(nibabel.load(tmp_path / "a.nii")).get_fdata()
    np.testing.assert_allclose(turned, made().magnitudes.transpose(2, 0, 1)[::-1, :, ::-1])


@pytest.mark.parametrize("affine", [CORONAL, tilted_affine()])
def test_sform_and_qform_agree_and_are_marked(affine, tmp_path):
    write(made(affine=affine), tmp_path / "a.nii")
    header = nibabel.load(tmp_path / "a.nii").header
    assert (int(header["sform_code"]), int(header["qform_code"])) == (2, 2)
    np.testing.assert_allclose(header.get_sform(), affine, atol=1e-5)
    np.testing.assert_allclose(header.get_qform(), affine, atol=1e-4)
    np.testing.assert_allclose(header.get_zooms(), np.linalg.norm(affine[:3, :3], axis=0), rtol=1e-6)
    assert header.get_xyzt_units() == ("mm", "unknown")


def test_an_unknown_orientation_stays_unknown(tmp_path):
    write(made(affine=None), tmp_path / "a.nii")
    header = nibabel.load(tmp_path / "a.nii").header
    assert (int(header["sform_code"]), int(header["qform_code"])) == (0, 0)
    assert header.get_zooms() == (1.5, 2.0, 5.0)


def test_volumes_are_the_fourth_axis(tmp_path):
    write(made(slices=6, volumes=2), tmp_path / "a.nii")
    values = nibabel.load(tmp_path / "a.nii").get_fdata()
    assert values.shape == (8, 6, 3, 2)
    np.testing.assert_allclose(values[:, :, 1, 1], made(slices=6).magnitudes[4].T)


def test_the_header_warns(tmp_path):
    write(made(), tmp_path / "a.nii")
    assert b"not for diagnosis" in bytes(nibabel.load(tmp_path / "a.nii").header["descrip"])


@pytest.mark.parametrize("place", ["acdc/training/patient029/patient029_frame01.nii.gz", "brain_t1w/sub-06_T1w.nii.gz"])
def test_a_real_scan_comes_back_as_it_was(place, shared_data, tmp_path):
    """ACDC has an affine that contradicts its voxels, the other one is oblique: both are kept."""
    scan = open_raw_scan(shared_data / place)
    images = np.stack([scan.picture(ifft2c(scan.kspace(index))[0]).numpy() for index in range(3)])
    write(
        Reconstruction(name="x", images=images, voxel=scan.voxel, affine=scan.affine, provenance={}),
        tmp_path / "a.nii.gz",
    )
    again = open_raw_scan(tmp_path / "a.nii.gz")
    np.testing.assert_allclose(again.affine, scan.affine, atol=1e-4)
    np.testing.assert_allclose(again.voxel, scan.voxel, rtol=1e-5)
    source, copy = nibabel.load(shared_data / place), nibabel.load(tmp_path / "a.nii.gz")
    truth = np.asarray(source.dataobj[..., :3], dtype=np.float32)
    np.testing.assert_allclose(copy.get_fdata(), truth, atol=1e-5 * truth.max())
