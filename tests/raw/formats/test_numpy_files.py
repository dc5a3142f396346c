"""NumPy files: axes by their number or by name, masks and maps from archives."""

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, columns, true_maps
from somamba.errors import ConfigError, DataError
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.fourier import ifft2c
from somamba.raw.opening import open_raw_scan


def saved(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    return tmp_path / "a.npy"


def stack(n_slices=2):
    return np.stack([coil_kspace() * (1 + index) for index in range(n_slices)])


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (coil_kspace(1)[0], (1, 1, 32, 24)),
        (coil_kspace(), (1, 3, 32, 24)),
        (stack(), (2, 3, 32, 24)),
        (np.repeat(coil_kspace(1), 65, axis=0), (65, 1, 32, 24)),
    ],
)
def test_axes_are_told_by_their_number(array, shape, tmp_path):
    scan = open_raw_scan(saved(tmp_path, array))
    assert scan.volume.shape == shape
    np.testing.assert_array_equal(scan.kspace(shape[0] - 1).numpy(), array.reshape(shape)[-1])
    assert any("--axes" in note for note in scan.notes)


@pytest.mark.parametrize(
    "axes", [("y", "x", "coils", "slices"), ("coils", "slices", "y", "x"), ("slices", "y", "x", "coils")]
)
def test_named_axes_are_put_in_order(axes, tmp_path):
    order = [("slices", "coils", "y", "x").index(axis) for axis in axes]
    scan = open_raw_scan(saved(tmp_path, stack().transpose(order)), axes=axes)
    for index in range(2):
        np.testing.assert_array_equal(scan.kspace(index).numpy(), stack()[index])


def test_pairs_of_real_numbers_are_complex(tmp_path):
    pairs = np.stack([stack().real, stack().imag], axis=-1)
    np.testing.assert_array_equal(open_raw_scan(saved(tmp_path, pairs)).kspace(1).numpy(), stack()[1])


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
def test_an_archive_gives_kspace_mask_and_maps(compressed, by_columns, tmp_path):
    kspace, maps = stack(), true_maps()
    keep = columns(kspace, 3, 6).any(axis=(0, 1, 2))
    save = np.savez_compressed if compressed else np.savez
    save(
        tmp_path / "a.npz", kspace=np.asfortranarray(kspace) if by_columns else kspace, mask=keep, csm=maps.astype("c8")
    )
    scan = open_raw_scan(tmp_path / "a.npz")
    np.testing.assert_array_equal(scan.kspace(1).numpy(), np.where(keep, kspace[1], 0))
    np.testing.assert_array_equal(scan.maps(1).numpy(), maps)


def test_the_phase_encoding_may_run_along_rows(tmp_path):
    kspace = columns(coil_kspace(), 2, 6)
    scan = open_raw_scan(saved(tmp_path, kspace.swapaxes(-2, -1)))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), kspace)
    assert scan.transposed
    assert scan.picture(torch.zeros(32, 24)).shape == scan.image_shape == (24, 32)


def test_images_and_odd_shapes_are_refused_with_advice(tmp_path):
    with pytest.raises(DataError, match="Images without k-space are read as NIfTI"):
        open_raw_scan(saved(tmp_path, np.ones((4, 8, 8))))
    with pytest.raises(DataError, match="2 to 4 axes"):
        open_raw_scan(saved(tmp_path, np.ones((1, 1, 2, 8, 8), dtype=complex)))
    with pytest.raises(DataError, match="all samples are zero"):
        open_raw_scan(saved(tmp_path, np.zeros((2, 8, 8), dtype=complex)))
    with pytest.raises(DataError, match="too large for single precision"):
        open_raw_scan(saved(tmp_path, np.full((2, 8, 8), 1e200 + 0j)))


def test_wrong_axes_are_refused(tmp_path):
    path = saved(tmp_path, coil_kspace())
    with pytest.raises(ConfigError, match="y and x must be there"):
        open_raw_scan(path, axes=("coils", "y", "z"))
    with pytest.raises(DataError, match="has 3 axes"):
        open_raw_scan(path, axes=("y", "x"))


def test_archives_without_kspace_or_with_trajectories_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", one=np.ones((8, 8), dtype=complex), two=np.ones((8, 8), dtype=complex))
    with pytest.raises(DataError, match=r"no array 'kspace'; found one, two.*savez"):
        open_raw_scan(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", kspace=np.ones((8, 8), dtype=complex), traj=np.ones((8, 8)))
    with pytest.raises(DataError, match="do not lie on a grid"):
        open_raw_scan(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", kspace=coil_kspace(), mask=np.ones(7))
    with pytest.raises(DataError, match=r"a mask for k-space .* must be"):
        open_raw_scan(tmp_path / "c.npz")


def test_maps_may_come_from_a_file_of_their_own_and_must_fit(tmp_path):
    np.save(tmp_path / "maps.npy", true_maps())
    scan = open_raw_scan(saved(tmp_path, stack()), maps=tmp_path / "maps.npy")
    assert scan.maps(1).shape == (3, 32, 24)
    np.save(tmp_path / "maps.npy", np.ones((2, 32, 24), dtype=np.complex64))
    with pytest.raises(DataError, match="do not fit k-space"):
        open_raw_scan(saved(tmp_path, stack()), maps=tmp_path / "maps.npy")


def test_the_real_uncentred_brain_is_centred_and_upright(scanner_file):
    scan = open_raw_scan(scanner_file)
    plain = np.linalg.norm(np.fft.ifft2(np.load(scanner_file), norm="ortho"), axis=0)
    image = root_sum_of_squares(ifft2c(scan.kspace(0))[None])[0, 0].numpy()
    np.testing.assert_allclose(image, plain, atol=1e-4 * plain.max())
    assert scan.coils == 13
    assert scan.sampling(0).complete


def test_the_real_undersampled_brain_is_understood_as_it_is(shared_data):
    path = shared_data / "raw_kspace" / "brain_8coil_undersampled.npy"
    scan = open_raw_scan(path)
    np.testing.assert_array_equal(scan.kspace(0).numpy(), np.load(path))
    sampling = scan.sampling(0)
    assert sampling.acceleration == pytest.approx(1 / 0.12434782)
    assert sampling.calibration.shape == (24, 24)


@pytest.mark.parametrize("name", ["mask", "maps", "sens_maps", "kspace"])
def test_an_archive_whose_mask_or_maps_must_not_be_read_is_refused(name, tmp_path):
    """Without them the samples would be misunderstood: a pickled mask, ignored, means fully sampled."""
    arrays = {"kspace": coil_kspace(), "other": coil_kspace(), name: np.array([{"pickled": 1}], dtype=object)}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match="must not be read"):
        open_raw_scan(tmp_path / "a.npz")


def test_weights_and_probabilities_are_no_mask(tmp_path):
    full = coil_kspace(3)
    weights = np.linspace(0.1, 1, full.shape[-1])
    np.savez(tmp_path / "weights.npz", kspace=full, mask=weights)
    with pytest.raises(DataError, match="Weights and probabilities are no mask"):
        open_raw_scan(tmp_path / "weights.npz")
    np.savez(tmp_path / "bytes.npz", kspace=full, mask=255 * (weights > 0.5).astype(np.uint8))
    assert "The mask that came with it was applied." in open_raw_scan(tmp_path / "bytes.npz").notes
