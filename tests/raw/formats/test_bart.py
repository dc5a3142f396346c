"""BART's pairs: frames, coils and axes as BART means them."""

import numpy as np
import pytest

from raw.made import coil_kspace, columns, write_cfl
from somamba.errors import DataError
from somamba.physics.coils.maps import combine
from somamba.physics.fourier import ifft2c
from somamba.raw.opening import open_raw_scan

SIZES = (32, 24, 1, 3)


def written(path, kspace, sizes=SIZES):
    """Readout varies fastest in the file, so the last axis of the array is the readout."""
    return write_cfl(path, kspace.swapaxes(-2, -1), sizes)


@pytest.mark.parametrize("name", ["a.cfl", "a.hdr", "a"])
def test_a_pair_is_opened_by_either_name_or_by_neither(name, tmp_path):
    kspace = columns(coil_kspace(), 3, 6)
    written(tmp_path / "a.cfl", kspace)
    scan = open_raw_scan(tmp_path / name)
    np.testing.assert_array_equal(scan.kspace(0).numpy(), kspace)
    assert not scan.transposed


def test_times_and_slices_are_frames(tmp_path):
    frames = np.stack([coil_kspace() * (1 + index) for index in range(6)])
    written(tmp_path / "a.cfl", frames, (*SIZES, 1, 1, 1, 1, 1, 1, 2, 1, 1, 3))
    scan = open_raw_scan(tmp_path / "a.cfl")
    assert scan.slices == 6
    np.testing.assert_array_equal(scan.kspace(4).numpy(), frames[4])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((1, 768, 1, 3), "first axis has length 1"),
        ((32, 8, 3, 3), "3-D, with 3 partitions.*bart transpose"),
        ((32, 24, 1, 1, 3), "3 sets of maps"),
        ((32, 24, 1, 4), "declares 24576 bytes, the file has 18432"),
        ((32, 24, 1, -3), "declares the sizes"),
        ((1 << 20, 1 << 20, 1, 3), "declares an array of 24576 GiB"),
    ],
)
def test_other_sizes_are_refused_with_advice(sizes, words, tmp_path):
    path = written(tmp_path / "a.cfl", coil_kspace(), sizes)
    with pytest.raises(DataError, match=words):
        open_raw_scan(path)


def test_two_phase_encodings_are_rows_and_columns(tmp_path):
    """ESPIRiT's own examples are (1, y, z, coils): a slice of a 3-D scan across its readout."""
    kspace = coil_kspace()
    scan = open_raw_scan(written(tmp_path / "a.cfl", kspace, (1, 32, 24, 3)))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), kspace)
    few = np.zeros_like(kspace)
    few[:, ::2, ::2] = kspace[:, ::2, ::2]
    few[:, 12:20, 8:16] = kspace[:, 12:20, 8:16]
    scan = open_raw_scan(written(tmp_path / "b.cfl", few, (1, 32, 24, 3)))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), few)
    assert scan.sampling(0).kind == "scattered samples in both directions"


def test_a_missing_header_is_named(tmp_path):
    path = written(tmp_path / "a.cfl", coil_kspace())
    (tmp_path / "a.hdr").unlink()
    with pytest.raises(DataError, match=r"a\.hdr, which declares its sizes, is not beside it"):
        open_raw_scan(path)


def test_the_images_of_barts_own_files_agree_with_bart(shared_data):
    folder = shared_data / "bart"
    scan = open_raw_scan(folder / "ksp.cfl", maps=folder / "maps.cfl")
    images = ifft2c(scan.kspace(0))
    stored = np.fromfile(folder / "cimg.cfl", dtype=np.complex64).reshape(8, 128, 128).swapaxes(-2, -1)
    np.testing.assert_allclose(images.numpy(), stored, atol=1e-4 * np.abs(stored).max())
    merged = combine(images[None], scan.maps(0)[None]).abs()[0, 0]
    root = np.fromfile(folder / "rss.cfl", dtype=np.complex64).reshape(128, 128).T.real
    assert np.corrcoef(merged.flatten(), root.ravel())[0, 1] > 0.999


def test_barts_mask_is_found_from_the_zeros(shared_data):
    stored = np.fromfile(shared_data / "bart" / "mask.cfl", dtype=np.complex64).real != 0
    sampling = open_raw_scan(shared_data / "bart" / "kspu.cfl").sampling(0)
    assert sampling.mask.lines == tuple(np.flatnonzero(stored))
    assert sampling.kind == "every 4th column and the centre"


@pytest.mark.parametrize("name", ["cimg", "maps", "pics_l2", "rss", "traj", "ksp_rad", "mask"])
def test_barts_other_files_are_not_taken_for_kspace(shared_data, name):
    with pytest.raises(DataError, match=f"{name}.cfl"):
        open_raw_scan(shared_data / "bart" / f"{name}.cfl")
