"""Whole heads: people share a split, zero-filled axes are cut to what was acquired."""

import numpy as np
import pytest

from somamba.data.catalog import DATASETS, split_entries
from somamba.data.readers.heads import ACQUIRED, ROLES, SUBJECTS, acquired_size, fourier_cropped
from somamba.errors import DataError

READER = DATASETS["heads"]


def test_slices_lie_on_the_last_axis(tmp_path):
    volume = np.arange(20 * 18 * 3, dtype=np.uint16).reshape(20, 18, 3)
    np.savez(tmp_path / "someone.npz", x=volume)
    (entry,) = READER.find(tmp_path).entries
    case = READER.open_case(entry)
    assert case.image.shape == (3, 20, 18)
    np.testing.assert_array_equal(case.image.slice(2), volume[..., 2])
    np.testing.assert_array_equal(case.image.read(1, 3)[0], volume[..., 1])


def test_a_zero_filled_axis_is_cut_to_what_was_acquired(tmp_path):
    fine = np.random.default_rng(0).uniform(0, 100, (40, 60, 2)).astype(np.float32)
    np.savez(tmp_path / "t1_flash2d_prisma3t_sag.npz", x=fine)
    case = READER.open_case(READER.find(tmp_path).entries[0])
    assert case.image.shape == (2, 40, 50)
    assert case.image.slice(0).shape == (40, 50)
    assert case.image.slice(0).mean() == pytest.approx(fine[..., 0].mean(), rel=0.01)


def test_cropping_undoes_zero_filling():
    image = np.random.default_rng(1).uniform(50, 100, (1, 32, 24)).astype(np.float32)
    image[:, :, 12:] = image[:, :, 12:][..., ::-1]
    spectrum = np.fft.fftshift(np.fft.fft2(image), axes=(1, 2))
    spectrum[:, 0], spectrum[..., 0] = 0, 0  # The one frequency that has no partner cannot be zero-filled evenly.
    small = np.abs(np.fft.ifft2(np.fft.ifftshift(spectrum, axes=(1, 2))))
    filled = np.pad(spectrum, ((0, 0), (8, 8), (4, 4))) * (48 * 32) / (32 * 24)
    large = np.abs(np.fft.ifft2(np.fft.ifftshift(filled, axes=(1, 2)))).astype(np.float32)
    np.testing.assert_allclose(fourier_cropped(large, (32, 24)), small, rtol=1e-3)


def test_sizes_are_even_and_only_cut_where_vendors_filled():
    assert acquired_size("ms_long_p20_s2_t1w", (230, 198)) == (230, 150)
    assert acquired_size("someone", (231, 199)) == (231, 199)


def test_people_who_occur_twice_share_a_split():
    assert not set(SUBJECTS) & set(ROLES)
    assert set(ROLES.values()) == {"val", "test"}


def test_what_is_no_archive_is_left_out_and_a_missing_folder_is_said_so(tmp_path):
    (tmp_path / "README.md").write_text("origins")
    assert [item.name for item in READER.find(tmp_path).left_out] == ["README.md"]
    with pytest.raises(DataError, match="is not a folder"):
        READER.find(tmp_path / "nowhere")


def test_the_real_heads_are_split_by_person(shared_data):
    folder = shared_data / "heads"
    parts = {split: split_entries("heads", folder, split) for split in ("train", "val", "test")}
    assert {split: len(found) for split, found in parts.items()} == {"train": 18, "val": 2, "test": 1}
    assert set(SUBJECTS) | set(ACQUIRED) <= {entry.id for found in parts.values() for entry in found}
    case = READER.open_case(parts["test"][0])
    assert case.image.shape == (30, 240, 192)
    assert 0 <= case.image.slice(15).min() < case.image.slice(15).max()
