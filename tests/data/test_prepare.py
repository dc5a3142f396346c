"""Preparation crops around the centre, scales to the unit range, and refuses what it cannot scale."""

import numpy as np
import pytest
import torch

from somamba.data.case import Case
from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.prepare import fit, prepare, unit_range
from somamba.errors import DataError
from somamba.files.reading import Volume
from somamba.physics.fourier import centre_crop, crop_kspace, fft2c, ifft2c


def case_of(kspace: np.ndarray | None = None, image: np.ndarray | None = None) -> Case:
    volumes = {
        name: None if array is None else Volume(shape=array.shape, read=lambda a, b, array=array: array[a:b])
        for name, array in (("kspace", kspace), ("image", image))
    }
    return Case(id="c", source="c.h5", **volumes)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def complex_noise(*shape: int) -> np.ndarray:
    return (noise(*shape) + 1j * noise(*shape, seed=1)).astype(np.complex64)


def test_the_crop_keeps_the_centre():
    image = np.arange(7 * 10).reshape(7, 10)
    np.testing.assert_array_equal(centre_crop(image, (3, 4)), image[2:5, 3:7])


@pytest.mark.parametrize("size", [(3, 3), (4, 4), (5, 6), (8, 9), (9, 4)])
def test_the_middle_pixel_stays_in_the_middle(size):
    point = np.zeros((5, 6))
    point[2, 3] = 1
    cropped = centre_crop(point, size)
    assert cropped.shape == size
    assert cropped[size[0] // 2, size[1] // 2] == cropped.sum() == 1


def test_resizing_keeps_a_constant_and_the_mean_of_a_ramp():
    ramp = np.linspace(0, 1, 30, dtype=np.float32)[None].repeat(20, axis=0)
    resized = fit(ramp, (14, 12), how="resize")
    assert resized.shape == (14, 12)
    assert resized.mean() == pytest.approx(0.5, abs=1e-5)


def test_the_unit_range_is_reached_at_both_ends():
    scaled = unit_range(noise(8, 8) * 50 - 20)
    assert (scaled.min(), scaled.max(), scaled.dtype) == (0, 1, np.float32)
    assert unit_range(np.full((8, 8), 3, np.float32)) is None


def test_slices_without_contrast_are_left_out_and_counted():
    image = noise(4, 130, 140)
    image[2] = 7
    ready = prepare(case_of(image=image), DataConfig())
    assert ready.slices == (0, 1, 3)
    assert ready.left_out[0][0] == 2
    assert ready.array.shape == (3, 128, 128)
    with pytest.raises(DataError, match="every slice is empty"):
        prepare(case_of(image=np.zeros((2, 130, 130), np.float32)), DataConfig())


def test_values_too_large_for_the_arithmetic_are_refused():
    image = noise(1, 128, 128)
    image[0, 0, 0], image[0, 0, 1] = 3e38, -3e38
    with pytest.raises(DataError, match=r"'c' \(c\.h5\).*slice 0 are too large"):
        prepare(case_of(image=image), DataConfig())


def test_a_volume_with_no_valid_slice_is_refused():
    with pytest.raises(DataError, match="none of its 40 slices is valid"):
        prepare(case_of(kspace=complex_noise(40, 1, 16, 16)), DataConfig(dataset="cc359"))


def test_one_slice_is_prepared_as_within_its_case():
    case, config = case_of(image=noise(3, 140, 130)), DataConfig()
    np.testing.assert_array_equal(prepare(case, config, only=1).array[0], prepare(case, config).array[1])
    with pytest.raises(DataError, match="choose 0 to 2"):
        prepare(case, config, only=3)


def test_magnitude_comes_from_kspace_where_there_are_no_images():
    kspace = complex_noise(61, 1, 256, 256)
    ready = prepare(case_of(kspace=kspace), DataConfig(dataset="cc359"))
    image = np.abs(np.fft.ifft2(np.fft.ifftshift(kspace[30, 0])))
    expected = np.fft.fftshift((image - image.min()) / (image.max() - image.min()))
    assert ready.slices == (30,)
    np.testing.assert_allclose(ready.array[0], expected, atol=1e-5)


def test_raw_trims_the_readout_and_keeps_columns_that_were_never_acquired(tmp_path):
    write_phantom("fastmri", tmp_path, cases={"train": 1})
    dataset = DATASETS["fastmri"]
    case = dataset.open_case(dataset.find(tmp_path).entries[0])
    ready = prepare(case, DataConfig(dataset="fastmri", protocol="raw"))
    assert ready.array.shape == (4, 1, 32, 24)
    acquired = ready.array.any(axis=(0, 1, 2))
    np.testing.assert_array_equal(acquired, case.kspace.read(0, 4).any(axis=(0, 1, 2)))
    image = np.abs(ifft2c(torch.from_numpy(ready.array[1]))[0].numpy())
    np.testing.assert_allclose(image, case.image.slice(1), rtol=1e-3, atol=1e-2)


def test_cropping_kspace_crops_the_image():
    image = complex_noise(2, 12, 10)
    cropped = crop_kspace(fft2c(torch.from_numpy(image)).numpy(), (8, 6))
    np.testing.assert_allclose(ifft2c(torch.from_numpy(cropped)).numpy(), image[:, 2:10, 2:8], atol=1e-5)


def test_rows_that_were_never_acquired_point_to_the_other_phase_axis():
    kspace = complex_noise(2, 4, 16, 16)
    kspace[:, :, 13:] = 0
    config = DataConfig(dataset="m4raw", protocol="raw")
    with pytest.raises(DataError, match=r"3 rows of k-space were never acquired.*Set phase_axis: y"):
        prepare(case_of(kspace=kspace), config)
    swapped = prepare(case_of(kspace=kspace), DataConfig(dataset="m4raw", protocol="raw", phase_axis="y"))
    np.testing.assert_array_equal(swapped.array, kspace.swapaxes(-2, -1))


def test_maps_follow_their_kspace_and_have_unit_norm(tmp_path):
    write_phantom("m4raw", tmp_path, cases={"train": 1}, shape=(48, 48), slices=1)
    dataset = DATASETS["m4raw"]
    case = dataset.open_case(dataset.find(tmp_path).entries[0])
    config = DataConfig(dataset="m4raw", protocol="raw", combine="sense", mask_options={"center_fraction": 0.2})
    ready = prepare(case, config)
    assert ready.array.shape == (1, 8, 48, 48)
    np.testing.assert_array_equal(ready.array[:, :4], case.kspace.read(0, 1))
    norm = np.linalg.norm(ready.array[0, 4:], axis=0)
    inside = norm > 0
    assert inside.mean() > 0.3
    np.testing.assert_allclose(norm[inside], 1, atol=1e-4)
