"""Coil maps that come with a scan are compared with it."""

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, true_maps
from somamba.errors import DataError, InputError
from somamba.physics.coils.maps import espirit, explained_share
from somamba.physics.fourier import ifft2c
from somamba.raw.formats.in_memory import raw_scan_of
from somamba.raw.layout import Arrangement
from somamba.raw.opening import open_raw_scan

YX = (-2, -1)
SIZES = [(32, 24), (31, 25)]


def rolled(kspace):
    """Centred k-space whose image is rolled: programs that forget to shift the image write it."""
    images = ifft2c(torch.from_numpy(kspace)).numpy()
    return (np.fft.fftshift(np.fft.fft2(images), axes=YX) / np.sqrt(images[0].size)).astype(np.complex64)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("apart", [False, True])
def test_maps_in_the_frame_of_a_rolled_scan_are_rolled_with_it(size, apart, tmp_path):
    kspace, maps = rolled(coil_kspace(3, *size)), true_maps(3, *size)
    lie = np.fft.fftshift(maps, axes=YX)
    if apart:
        np.save(tmp_path / "kspace.npy", kspace)
        np.save(tmp_path / "maps.npy", lie)
        scan = open_raw_scan(tmp_path / "kspace.npy", axes=("coils", "y", "x"), maps=tmp_path / "maps.npy")
    else:
        scan = raw_scan_of(kspace, maps=lie, axes=("coils", "y", "x"))
    np.testing.assert_array_equal(scan.maps(0).numpy(), maps)
    assert any("The coil maps were rolled" in note for note in scan.notes)
    upright = raw_scan_of(kspace, maps=maps, axes=("coils", "y", "x"))
    np.testing.assert_array_equal(upright.maps(0).numpy(), maps)
    assert not any("coil maps" in note for note in upright.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (np.conj, "Their conjugate would explain 100%"),
        (lambda maps: maps[:, ::-1], "Turned upside down they would explain 100%"),
        (lambda maps: maps[:, :, ::-1], "With left and right exchanged they would explain 100%"),
        (lambda maps: maps[::-1], "With the coils in the opposite order they would explain 100%"),
        (lambda maps: np.random.default_rng(0).permutation(maps.reshape(-1)).reshape(maps.shape), "in its order"),
    ],
)
def test_maps_that_do_not_belong_to_the_scan_are_refused_with_what_would_fit(change, words):
    maps = np.ascontiguousarray(change(true_maps(6)))
    with pytest.raises(InputError, match=f"the coil maps explain .*{words}"):
        raw_scan_of(coil_kspace(6), maps=maps, axes=("coils", "y", "x"))


def test_the_refusal_of_a_file_is_an_error_of_its_data(tmp_path):
    np.savez(tmp_path / "a.npz", kspace=coil_kspace(6), maps=true_maps(6)[::-1])
    with pytest.raises(DataError, match="opposite order"):
        open_raw_scan(tmp_path / "a.npz")


def test_maps_of_a_part_of_the_object_are_used_and_a_note_says_what_is_missing():
    maps = true_maps()
    maps[:, :14] = 0
    scan = raw_scan_of(coil_kspace(), maps=maps, axes=("coils", "y", "x"))
    np.testing.assert_array_equal(scan.maps(0).numpy(), maps)
    assert "explain only" in scan.notes[-1]


def test_maps_without_the_centre_of_kspace_are_believed():
    kspace = coil_kspace()
    kspace[:, :, 12] = 0
    scan = raw_scan_of(kspace, maps=true_maps()[::-1].copy(), axes=("coils", "y", "x"))
    assert scan.maps(0) is not None


@pytest.mark.parametrize("lines", [1, 2, 4])
@pytest.mark.parametrize("lie", ["as the image", "rolled"])
def test_maps_of_a_scan_without_calibration_lines_are_placed_and_never_refused(lines, lie, shared_data):
    """Those who give maps often have no lines to estimate them from, so true maps explain little of a coarse image."""
    kspace = np.fft.fftshift(np.load(shared_data / "raw_kspace" / "brain_13coil_flip4.npy"), axes=YX)
    maps = espirit(torch.from_numpy(Arrangement(rolled=True).apply(kspace) * np.float32(1e6))[None]).numpy()[0]
    acquired = np.arange(224) % 8 == 0
    acquired[112 - lines // 2 : 112 - lines // 2 + lines] = True
    given = maps if lie == "as the image" else np.roll(maps, (112, 112), YX)
    scan = raw_scan_of(np.where(acquired, kspace, 0), maps=given, axes=("coils", "y", "x"))
    # With one line in eight the image folds so often that it is not seen to be rolled; the maps then lie as it does.
    rolled_back = any("it was rolled back" in note for note in scan.notes)
    assert rolled_back == (lines > 1)
    np.testing.assert_array_equal(scan.maps(0).numpy(), maps if rolled_back else np.roll(maps, (112, 112), YX))
    assert not any("explain only" in note for note in scan.notes)


@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e15])
def test_the_true_maps_explain_all_of_a_scan_of_any_scale(scale):
    kspace, maps = torch.from_numpy(coil_kspace()) * scale, torch.from_numpy(true_maps())
    assert explained_share(kspace, maps) == pytest.approx(1, abs=1e-3)
    assert explained_share(kspace, maps.conj()) < 0.9
