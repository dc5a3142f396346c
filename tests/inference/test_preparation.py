"""A slice is prepared in stages: what counts as unknown, what counts as zero, and in which units."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import somamba
from inference.checkpoints import tiny
from raw.made import coil_kspace, columns, true_maps
from somamba.errors import ConfigError, InputError
from somamba.evaluation.metrics import score
from somamba.inference import recovery
from somamba.inference.preparation import Preparation, RecoveryOptions, given_maps
from somamba.inference.reconstruct import reconstruct, recover_slice
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import open_model, open_weights
from somamba.physics.fourier import fft2c
from somamba.raw.formats.in_memory import raw_scan_of
from somamba.raw.opening import open_raw_scan

ZERO_FILLED = open_model("zero_filled")
SAMPLE = Path(somamba.__file__).parent / "samples" / "brain_13coil.npz"
FOUR = RecoveryOptions(undersampling=Undersampling(acceleration=4))


def without(kspace, rows=(0, 0), missing_columns=(0, 0)):
    """K-space whose outermost rows and columns were never acquired."""
    cut = np.array(kspace)
    cut[..., : rows[0], :] = cut[..., cut.shape[-2] - rows[1] :, :] = 0
    cut[..., : missing_columns[0]] = cut[..., cut.shape[-1] - missing_columns[1] :] = 0
    return cut


@pytest.mark.parametrize("rows", [(4, 4), (0, 3), (9, 1), (8, 0)])
def test_empty_outer_rows_count_as_zero(rows):
    scan = raw_scan_of(without(columns(coil_kspace(), 2, 8), rows), centred=True)
    prepared = Preparation(scan, ZERO_FILLED).slice(0)
    assert prepared.measured.mask.shape == (1, 24)
    assert prepared.acceleration == pytest.approx(24 / 16)
    (note,) = (note for note in reconstruct(scan, ZERO_FILLED).notes if "rows" in note and "zero" in note)
    assert note.startswith(f"{sum(rows)} rows at the edge of the readout")


@pytest.mark.parametrize("edge", [(5, 5), (0, 6), (7, 0)])
def test_empty_outer_columns_count_as_unknown(edge):
    kspace = without(columns(coil_kspace(), 2, 12), missing_columns=edge)
    scan = raw_scan_of(kspace, axes=("coils", "y", "x"), centred=True)
    prepared = Preparation(scan, ZERO_FILLED).slice(0)
    np.testing.assert_array_equal(prepared.measured.mask[0].numpy(), kspace.any(axis=(0, 1)))
    assert any("columns at the edge were never acquired" in note for note in reconstruct(scan, ZERO_FILLED).notes)


def test_empty_rows_and_columns_are_told_apart_when_the_phase_encoding_runs_along_y():
    kspace = without(columns(coil_kspace(), 2, 8), rows=(4, 4)).swapaxes(-2, -1)
    scan = raw_scan_of(kspace, axes=("coils", "y", "x"), centred=True)
    assert scan.transposed
    assert Preparation(scan, ZERO_FILLED).slice(0).measured.mask.shape == (1, 24)


def scattered():
    keep = np.random.default_rng(0).random((32, 24)) < 0.4
    keep[12:20, 8:16] = True
    keep[[0, 31]] = False
    return raw_scan_of(np.where(keep, coil_kspace(), 0), centred=True), keep


def test_of_scattered_samples_a_network_for_columns_takes_the_outermost_rows_for_zero(tmp_path):
    scan, keep = scattered()
    network = tiny(tmp_path)
    mask = Preparation(scan, network).slice(0).measured.mask.numpy()
    assert mask[[0, 31]].all()
    np.testing.assert_array_equal(mask[1:31], keep[1:31])
    assert any("missing in both directions" in note for note in reconstruct(scan, network).notes)
    np.testing.assert_array_equal(Preparation(scan, ZERO_FILLED).slice(0).measured.mask.numpy(), keep)


@pytest.mark.parametrize("factor", [1e-41, 2e-25, 1.0, 1e30])
def test_samples_are_brought_into_range_by_a_power_of_two(factor):
    kspace = (coil_kspace().astype(np.complex128) * factor).astype(np.complex64)
    prepared = Preparation(raw_scan_of(kspace), ZERO_FILLED).slice(0)
    assert np.log2(prepared.unit) == round(np.log2(prepared.unit))
    assert (prepared.unit == 1) == (factor == 1)
    assert torch.equal(prepared.full * prepared.unit, torch.from_numpy(kspace))
    assert 1e-12 < float(prepared.full.abs().max()) < 1e12


def psnr(kspace, weights="brain_raw"):
    scan = raw_scan_of(kspace)
    trained = open_weights(weights)
    recovered = recover_slice(Preparation(scan, trained, FOUR), 0, trained.model)
    image = np.abs(recovered.image)
    power = fft2c(torch.from_numpy(recovered.image)[None])[0].abs().square()
    return score(image, np.abs(recovered.whole())).psnr, float(power[0].sum() / power.sum())


def test_empty_rows_cost_the_real_scan_nothing():
    """They cost 2.5 dB and drew stripes of two pixels, whose power is in the first row of k-space."""
    whole = open_raw_scan(SAMPLE).kspace(0).numpy()
    best, _ = psnr(whole)
    found, stripes = psnr(without(whole, rows=(4, 4)))
    assert found > best - 0.3
    assert stripes < 5e-5


def test_scattered_samples_of_the_real_scan_show_no_stripes():
    whole = open_raw_scan(SAMPLE).kspace(0).numpy()
    distance = np.hypot(*np.meshgrid(np.linspace(-1, 1, 224), np.linspace(-1, 1, 224)))
    keep = np.random.default_rng(1).random((224, 224)) < 0.8 * np.clip(1 - distance / 1.5, 0, 1) ** 4
    keep[100:124, 100:124] = True
    scan, network = raw_scan_of(np.where(keep, whole, 0)), open_weights()
    image = recover_slice(Preparation(scan, network), 0, network.model).image
    power = fft2c(torch.from_numpy(image)[None])[0].abs().square()
    assert float(power[0].sum() / power.sum()) < 1e-5


def test_what_was_undersampled_already_is_not_undersampled_again():
    scan = raw_scan_of(columns(coil_kspace(), 2, 8))
    with pytest.raises(ValueError, match="undersampled already"):
        Preparation(scan, ZERO_FILLED, FOUR).slice(0)
    assert Preparation(replace(scan), ZERO_FILLED).slice(0) is not None


def many_coils(coils, **options):
    """A scan of mixes of four coils, and its first slice prepared for a network that takes maps."""
    kspace = columns(coil_kspace(), 2, 8)
    mixes = np.random.default_rng(0).standard_normal((coils, len(kspace))) @ kspace.reshape(len(kspace), -1)
    scan = raw_scan_of(mixes.reshape(coils, *kspace.shape[1:]).astype(np.complex64), axes=("coils", "y", "x"))
    return scan, Preparation(scan, ZERO_FILLED, RecoveryOptions(**options)).slice(0)


def test_many_coils_are_compressed_and_few_are_not():
    scan, prepared = many_coils(64)
    assert prepared.measured.kspace.shape[0] == prepared.measured.maps.shape[0] == 12
    assert prepared.full.shape[0] == 12
    assert prepared.energy > 0.999
    assert reconstruct(scan, ZERO_FILLED).provenance["compressed_to"] == 12
    few, kept = many_coils(12)
    assert kept.measured.kspace.shape[0] == 12
    assert kept.energy == 1
    assert reconstruct(few, ZERO_FILLED).provenance["compressed_to"] is None


def test_coils_that_are_mixes_of_four_lose_nothing_by_compression_to_four():
    scan, _ = many_coils(9)
    few, full = (np.abs(reconstruct(scan, ZERO_FILLED, RecoveryOptions(coils=n)).images) for n in (4, 9))
    assert np.linalg.norm(few - full) < 0.02 * np.linalg.norm(full)


def test_no_coil_is_refused():
    with pytest.raises(ConfigError, match="at least 1 coil"):
        RecoveryOptions(coils=0)


def test_given_maps_are_compressed_with_the_coils():
    kspace = columns(coil_kspace(), 2, 8)
    scan = raw_scan_of(kspace, maps=true_maps(), axes=("coils", "y", "x"))
    prepared = Preparation(scan, ZERO_FILLED, RecoveryOptions(coils=2)).slice(0)
    norm = torch.linalg.vector_norm(prepared.measured.maps, dim=0)
    torch.testing.assert_close(norm, torch.ones_like(norm))


def test_the_last_step_follows_networks_for_raw_scans_and_its_strengths_are_recorded(tmp_path):
    trained = tiny(tmp_path)
    scan = raw_scan_of(columns(coil_kspace(), 2, 8), axes=("coils", "y", "x"))
    made = reconstruct(scan, trained)
    assert set(made.provenance["refinement"]) == {"weight", "sparsity"}
    plain = reconstruct(scan, trained, RecoveryOptions(refine=False))
    assert plain.provenance["refinement"] is None
    assert reconstruct(scan, ZERO_FILLED).provenance["refinement"] is None
    assert not np.array_equal(made.images, plain.images)


def test_all_slices_of_a_volume_share_the_strengths(tmp_path):
    one = columns(coil_kspace(), 2, 8)
    volume = np.stack([np.zeros_like(one), one, 2 * one])
    made = reconstruct(raw_scan_of(volume, axes=("slices", "coils", "y", "x")), tiny(tmp_path))
    assert made.provenance["refinement"]["weight"] is not None
    np.testing.assert_allclose(made.images[2], 2 * made.images[1], rtol=1e-3, atol=1e-4 * np.abs(made.images).max())


def test_given_maps_get_unit_norm_and_keep_their_zeros(rng):
    maps = 5 * torch.randn(3, 8, 6, dtype=torch.complex64, generator=rng)
    maps[:, 0] = 0
    norm = torch.linalg.vector_norm(given_maps(maps), dim=0)
    torch.testing.assert_close(norm[1:], torch.ones(7, 6))
    assert not norm[0].any()


def centre_left_out():
    kspace = coil_kspace()
    kspace[..., 12] = 0
    return kspace


@pytest.mark.parametrize("kspace", [columns(coil_kspace(), 8, 4), centre_left_out()])
def test_without_enough_of_the_centre_the_error_says_what_to_do(kspace):
    scan = raw_scan_of(kspace, axes=("coils", "y", "x"))
    with pytest.raises(InputError, match=r"Coil maps cannot be estimated.*--maps FILE.*at least 6, better 24"):
        Preparation(scan, ZERO_FILLED).slice(0)


def test_a_note_tells_of_what_estimated_maps_miss(monkeypatch):
    scan = raw_scan_of(columns(coil_kspace(4, 48, 40), 2, 8), axes=("coils", "y", "x"))
    assert not any("coil maps see nothing" in note for note in reconstruct(scan, ZERO_FILLED).provenance["notes"])
    monkeypatch.setattr(recovery, "TOLD_UNSEEN", -1)
    assert any("coil maps see nothing" in note for note in reconstruct(scan, ZERO_FILLED).provenance["notes"])
