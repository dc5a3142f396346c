"""A scan becomes a reconstruction slice by slice; what cannot be done is refused with the slice and the remedy."""

from dataclasses import replace

import nibabel
import numpy as np
import pytest
import torch

from inference.checkpoints import tiny
from raw.made import acquisition, coil_kspace, columns, lines_of, noise, picture, write_cfl, write_mrd
from somamba.data.simulation.scanner import coil_maps
from somamba.errors import InputError
from somamba.files.reading import Volume
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.reconstruct import COMPLETE, reconstruct
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import open_model
from somamba.raw.opening import open_raw_scan

ZERO_FILLED = open_model("zero_filled")
HALF = Undersampling(acceleration=2, calibration=8)


def save(path, array):
    np.save(path, array)
    return open_raw_scan(path)


@pytest.fixture
def full(tmp_path):
    """Two slices between two empty ones, four coils, fully sampled."""
    one = coil_kspace(4)
    return save(tmp_path / "full.npy", np.stack([np.zeros_like(one), one, 2 * one, np.zeros_like(one)]))


@pytest.fixture
def magnitudes(tmp_path):
    image = picture(32, 24).numpy()
    nibabel.Nifti1Image(np.stack([image, 3 * image + 1], axis=-1).swapaxes(0, 1), np.eye(4)).to_filename(
        tmp_path / "image.nii.gz"
    )
    return open_raw_scan(tmp_path / "image.nii.gz")


def test_empty_slices_are_zero_and_listed(full):
    seen = []
    made = reconstruct(full, ZERO_FILLED, on_slice=seen.append)
    assert made.images.shape == (4, 32, 24)
    assert made.provenance["empty_slices"] == [0, 3]
    assert not made.images[[0, 3]].any()
    np.testing.assert_allclose(made.images[2], 2 * made.images[1], rtol=1e-4, atol=1e-5)
    assert [one is None for one in seen] == [True, False, False, True]
    assert COMPLETE in made.provenance["notes"]


@pytest.mark.parametrize("lines", [np.s_[:6, :], np.s_[:, :6]], ids=["rows", "columns"])
def test_a_scan_of_which_lines_were_never_acquired_is_not_called_fully_sampled(lines, tmp_path):
    kspace = coil_kspace(4)
    kspace[:, lines[0], lines[1]] = 0
    made = reconstruct(save(tmp_path / "partial.npy", kspace), ZERO_FILLED)
    assert made.provenance["acceleration"] == 1
    assert "6 " in " ".join(made.provenance["notes"])
    assert "never acquired" in " ".join(made.provenance["notes"])
    assert COMPLETE not in made.provenance["notes"]


def test_it_is_told_how_far_a_method_changed_a_fully_sampled_image(full, tmp_path):
    made = reconstruct(full, tiny(tmp_path))
    plain = np.abs(reconstruct(full, ZERO_FILLED).images)
    change = 100 * np.linalg.norm(np.abs(made.images) - plain) / np.linalg.norm(plain)
    told = [note for note in made.provenance["notes"] if note.startswith("so_mamba was applied all the same")]
    assert change > 0.1
    assert COMPLETE in made.provenance["notes"]
    assert f"changed the magnitudes by {change:.1f} %" in told[0]


@pytest.mark.parametrize("name", ["zero_filled", "l1_wavelet"])
def test_nothing_is_said_of_a_change_where_all_samples_make_the_image(name, full):
    made = reconstruct(full, open_model(name))
    assert made.provenance["notes"][-1] == COMPLETE
    np.testing.assert_allclose(made.images, reconstruct(full, ZERO_FILLED).images, atol=1e-5)


def test_a_full_scan_shows_the_object(full):
    image = np.abs(reconstruct(full, ZERO_FILLED).images[1])
    inside = picture().numpy() > 0
    np.testing.assert_allclose(image[inside], picture().numpy()[inside], atol=0.25)


def test_the_network_is_run_and_named(full, tmp_path):
    trained = tiny(tmp_path)
    made, plain = (reconstruct(full, one, RecoveryOptions(undersampling=HALF)) for one in (trained, ZERO_FILLED))
    assert np.abs(made.images - plain.images).max() > 0.05 * np.abs(plain.images).max()
    facts = made.provenance
    assert (facts["model"], facts["weights"], facts["protocol"]) == ("so_mamba", trained.weights, "raw")
    assert (facts["coils"], facts["coil_maps"], facts["undersampling"]["acceleration"]) == (4, "ESPIRiT", 2)


def test_the_strengths_that_l1_wavelet_chose_are_recorded_and_told(full):
    method = open_model("l1_wavelet")
    made = reconstruct(full, method, RecoveryOptions(undersampling=HALF))
    chosen = made.provenance["sparsities"]
    assert len(chosen) == 2
    assert set(chosen) <= set(method.model.config.strengths)
    (told,) = [note for note in made.provenance["notes"] if "lambda" in note]
    assert told.startswith(f"l1_wavelet chose lambda {min(chosen):g}")
    assert told.split(",")[0].endswith(f"{max(chosen):g}")
    whole = reconstruct(full, method).provenance
    assert whole["sparsities"] == [0, 0]
    assert not any("lambda" in note for note in whole["notes"])
    assert reconstruct(full, ZERO_FILLED).provenance["sparsities"] is None


def test_coils_that_lose_much_by_compression_are_told(full):
    made = reconstruct(full, ZERO_FILLED, RecoveryOptions(coils=1))
    kept = made.provenance["compressed_energy"]
    assert 0.1 < kept < 0.95
    (told,) = [note for note in made.provenance["notes"] if "the energy" in note]
    assert f"Compressing the coils to 1 keeps only {100 * kept:.1f} %" in told
    assert "--coils (in Python coils=) with a larger number, at most 4" in told
    plain = reconstruct(full, ZERO_FILLED).provenance
    assert plain["compressed_energy"] is None
    most = reconstruct(full, ZERO_FILLED, RecoveryOptions(coils=3)).provenance
    assert most["compressed_energy"] > 0.95
    assert not any("the energy" in note for note in [*plain["notes"], *most["notes"]])


def test_undersampling_gives_the_truth_and_the_zero_filled_image(full):
    seen = []
    made = reconstruct(full, ZERO_FILLED, RecoveryOptions(undersampling=HALF), on_slice=seen.append)
    one = seen[1]
    assert np.array_equal(one.image, one.zero_filled())
    assert np.array_equal(one.image, made.images[1])
    assert 1.5 < one.prepared.acceleration < 2.5
    error = np.linalg.norm(one.image - one.whole()) / np.linalg.norm(one.whole())
    assert 0.02 < error < 0.5


def test_maps_come_from_what_is_left_of_an_undersampled_scan(full):
    """More than six columns are needed, and the scan has them all, but a scanner would not have acquired them."""
    with pytest.raises(InputError, match=r"slice 1: Coil maps cannot be estimated from the 32 rows x 4 columns"):
        reconstruct(
            full,
            ZERO_FILLED,
            RecoveryOptions(undersampling=Undersampling(acceleration=4, calibration=4, mask="random")),
        )


def test_an_undersampled_scan_cannot_be_accelerated(tmp_path):
    scan = save(tmp_path / "a.npy", columns(coil_kspace(), 2, 8))
    assert reconstruct(scan, ZERO_FILLED).provenance["acceleration"] == pytest.approx(24 / 16)
    with pytest.raises(InputError, match=r"a.npy, slice 0: it is undersampled already.*Leave --acceleration out"):
        reconstruct(scan, ZERO_FILLED, RecoveryOptions(undersampling=HALF))


def test_given_maps_are_used_whatever_their_scale(full):
    maps = 7 * coil_maps(4, (32, 24), seed=1).numpy()
    scan = replace(full, coil_maps=Volume(shape=(1, *maps.shape), read=lambda _start, _stop: maps[None]))
    made = reconstruct(scan, ZERO_FILLED)
    np.testing.assert_allclose(np.abs(made.images[1]), picture().numpy(), atol=1e-4)
    assert made.provenance["coil_maps"] == "given"


def test_a_separate_calibration_scan_is_used(full):
    few = np.zeros((4, 4, 32, 24), np.complex64)
    few[1:3, :, :, ::2] = full.volume.read(1, 3)[..., ::2]
    scan = replace(full, volume=Volume(shape=few.shape, read=lambda start, stop: few[start:stop]))
    with pytest.raises(InputError, match="Coil maps cannot be estimated"):
        reconstruct(scan, ZERO_FILLED)
    assert reconstruct(replace(scan, reference=full.volume), ZERO_FILLED).images[1].any()


def test_one_coil_needs_no_maps(tmp_path):
    made = reconstruct(save(tmp_path / "a.npy", columns(coil_kspace(1), 8, 2)), tiny(tmp_path))
    assert made.provenance["coil_maps"] == "none, one coil"
    assert made.images.any()


def test_a_scan_in_which_nothing_can_be_seen_is_refused(full):
    blind = Volume(shape=(1, 4, 32, 24), read=lambda _start, _stop: np.zeros((1, 4, 32, 24), np.complex64))
    with pytest.raises(InputError, match="no signal in it: the coil maps are zero nearly everywhere"):
        reconstruct(replace(full, coil_maps=blind), ZERO_FILLED)


def test_numbers_that_are_lost_name_the_slice(full, tmp_path):
    trained = tiny(tmp_path)
    with torch.no_grad():
        next(trained.model.parameters()).fill_(torch.nan)
    with pytest.raises(InputError, match=r"full.npy, slice 1: The reconstruction has .* values that are not finite"):
        reconstruct(full, trained)


def test_weights_for_magnitude_images_refuse_measurements_unless_forced(full, tmp_path):
    trained = tiny(tmp_path, "magnitude")
    with pytest.raises(InputError, match=r"real, positive images.*one fixed mask.*--force"):
        reconstruct(full, trained)
    assert reconstruct(full, trained, RecoveryOptions(force=True)).images.any()


def test_weights_for_magnitude_images_take_a_magnitude_image(magnitudes, tmp_path):
    seen = []
    undersampling = Undersampling(acceleration=3)
    made = reconstruct(
        magnitudes, tiny(tmp_path, "magnitude"), RecoveryOptions(undersampling=undersampling), on_slice=seen.append
    )
    np.testing.assert_allclose(seen[1].whole(), 3 * seen[0].whole() + 1, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(made.images[1], 3 * made.images[0] + 1, rtol=1e-3, atol=1e-3)
    assert made.images.real.min() >= -1e-5
    assert made.provenance["simulated"] is True


def test_a_network_for_coils_side_by_side_wants_that_many(full, tmp_path):
    with pytest.raises(InputError, match=r"takes 3 coils side by side, the scan has 4.*combine: sense"):
        reconstruct(full, tiny(tmp_path, coils=3))


def test_pictures_are_turned_as_the_scan_says(tmp_path):
    path = write_mrd(tmp_path / "a.h5", lines_of(coil_kspace(3, 32, 24)), (32, 24))
    scan = open_raw_scan(path)
    made = reconstruct(scan, ZERO_FILLED)
    assert made.images.shape == (1, *scan.image_shape)
    assert made.voxel == scan.voxel


def test_a_bart_file_is_named_without_its_ending(tmp_path):
    scan = open_raw_scan(write_cfl(tmp_path / "ksp.v2.cfl", coil_kspace().swapaxes(-2, -1), (32, 24, 1, 3)))
    assert reconstruct(scan, ZERO_FILLED).name == "ksp.v2"


@pytest.mark.parametrize(
    ("name", "slices"), [("odd_m127_c3.h5", 3), ("full_m128_c8.h5", 1), ("acc4_w24_m128_c8_r2.h5", 8)]
)
def test_real_ismrmrd_files_are_reconstructed(shared_data, name, slices):
    made = reconstruct(open_raw_scan(shared_data / "mrd" / name), ZERO_FILLED)
    assert len(made.images) == slices
    assert made.provenance["empty_slices"] == []


def test_bart_and_somamba_see_the_same_image(shared_data):
    """Through BART's maps and through our own; they differ in a few pixels at the edge."""
    path = shared_data / "bart" / "ksp.cfl"
    scans = open_raw_scan(path, maps=shared_data / "bart" / "maps.cfl"), open_raw_scan(path)
    given, estimated = (np.abs(reconstruct(scan, ZERO_FILLED).images[0]) for scan in scans)
    assert np.linalg.norm(estimated - given) < 0.02 * np.linalg.norm(given)


def test_the_real_brain_is_undersampled_and_reconstructed(scanner_file, tmp_path):
    scan = open_raw_scan(scanner_file)
    seen = []
    made = reconstruct(
        scan, tiny(tmp_path), RecoveryOptions(undersampling=Undersampling(acceleration=4)), on_slice=seen.append
    )
    assert made.images.shape == (1, 224, 224)
    assert 3.8 < made.provenance["acceleration"] < 4.2
    error = np.linalg.norm(seen[0].zero_filled() - seen[0].whole()) / np.linalg.norm(seen[0].whole())
    assert 0.1 < error < 0.5


def noisy_coil(path, samples, maps):
    """Three coils, of which the last is full of noise; its noise scan says so."""
    deviations = np.array([0.02, 0.02, 0.5])[:, None]
    lines = [acquisition(deviations * noise((3, 5000), 1.0), flags=(19,)), *lines_of(samples)]
    return open_raw_scan(write_mrd(path, lines, (32, 24)), maps=maps)


def test_prewhitening_keeps_a_noisy_coil_from_spoiling_the_image(tmp_path):
    clean = coil_kspace(3)
    np.save(tmp_path / "maps.npy", coil_maps(3, (32, 24), seed=1).mT.numpy())  # as the picture lies
    bad = clean + np.array([0.02, 0.02, 0.5])[:, None, None] * noise(clean.shape, 1.0, seed=1)
    scans = [noisy_coil(tmp_path / f"{n}.h5", k, tmp_path / "maps.npy") for n, k in enumerate((clean, bad))]
    error = {}
    for prewhiten in (True, False):
        made = [reconstruct(scan, ZERO_FILLED, RecoveryOptions(prewhiten=prewhiten)) for scan in scans]
        assert made[0].provenance["prewhitened"] is prewhiten
        without, with_noise = (one.images for one in made)
        error[prewhiten] = np.linalg.norm(with_noise - without) / np.linalg.norm(without)
    assert error[True] < error[False] / 5


def test_networks_that_take_coils_side_by_side_see_them_as_they_are(tmp_path):
    scan = noisy_coil(tmp_path / "a.h5", coil_kspace(3), None)
    assert reconstruct(scan, tiny(tmp_path, coils=3)).provenance["prewhitened"] is False
