"""The noise of a scan is found where it has one, and bounded where it has not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from raw.made import acquisition, coil_kspace, columns, lines_of, noise, write_mrd
from somamba.raw.describe import describe
from somamba.raw.noise import (
    NOTE,
    SINGULAR,
    mix_coils,
    noise_of_edges,
    noise_of_scan,
    whitened,
    whitening_matrix,
)
from somamba.raw.opening import open_raw_scan
from somamba.raw.raw_scan import Noise
from somamba.raw.sampling import find_sampling


def edges(kspace):
    kspace = torch.from_numpy(kspace.astype(np.complex64))
    return noise_of_edges(kspace, find_sampling(kspace))


def test_the_outermost_samples_show_the_noise():
    signal = np.zeros((4, 128, 96), dtype=np.complex64)
    signal[:, 54:74, 38:58] = 100 * coil_kspace(4, 20, 20)
    assert edges(signal + noise(signal.shape, 0.3)).deviation == pytest.approx(0.3, rel=0.15)


def test_columns_that_were_not_acquired_do_not_lower_it():
    kspace = noise((4, 128, 96), 0.3)
    kspace[..., :8] = 0
    assert edges(columns(kspace, 4, 8)).deviation == pytest.approx(0.3, rel=0.15)


def test_without_samples_at_the_edge_it_is_unknown():
    keep = np.zeros((32, 24), dtype=bool)
    keep[10:20, 8:16] = np.eye(10, 8, dtype=bool)
    assert edges(np.where(keep, coil_kspace(), 0)) is None


def test_an_all_zero_noise_scan_is_none():
    assert noise_of_scan(np.zeros((2, 10), dtype=np.complex64), 1.0) is None


MIX = np.array([[1, 0, 0], [0.5j, 1, 0], [0.2, 0, 4]])
COVARIANCE = MIX @ MIX.conj().T


@pytest.fixture
def scan(tmp_path):
    """Three coils, one of them much noisier than the others, every second column."""
    lines = [acquisition(MIX @ noise((3, 20_000), 0.1), flags=(19,)), *lines_of(columns(coil_kspace(), 2, 8))]
    return open_raw_scan(write_mrd(tmp_path / "a.h5", lines, (32, 24)))


def test_noise_becomes_independent_and_keeps_its_mean_power():
    W = whitening_matrix(COVARIANCE)
    np.testing.assert_allclose(W @ COVARIANCE @ W.conj().T, np.trace(COVARIANCE) / 3 * np.eye(3), atol=1e-12)


@pytest.mark.parametrize("covariance", [np.diag([1, 1, 0j]), np.ones((2, 2), complex), np.zeros((2, 2), complex)])
def test_a_covariance_that_was_not_measured_whitens_nothing(covariance):
    assert whitening_matrix(covariance) is None


def test_kspace_maps_and_calibration_are_mixed_alike(scan):
    given = replace(scan, coil_maps=scan.volume, reference=scan.volume)
    white = whitened(given)
    expected = mix_coils(whitening_matrix(scan.noise.covariance), scan.kspace(0).numpy())
    for samples in (white.kspace(0), white.maps(0), white.calibration(0)):
        np.testing.assert_allclose(samples.numpy(), expected, atol=1e-5)
    assert white.sampling(0).mask.lines == scan.sampling(0).mask.lines
    assert torch.linalg.matrix_rank(white.kspace(0).flatten(1)) == 3
    assert white.notes == (*scan.notes, NOTE)
    assert white.noise.deviation == scan.noise.deviation
    np.testing.assert_allclose(white.noise.covariance, 2 * scan.noise.deviation**2 * np.eye(3))
    assert whitening_matrix(white.noise.covariance) == pytest.approx(np.eye(3))


def test_scans_that_tell_no_covariance_stay_as_they_are(scan):
    for other in (replace(scan, noise=None), replace(scan, noise=Noise(deviation=1.0, source="x"))):
        assert whitened(other) is other
    off = replace(scan, noise=Noise(deviation=1.0, source="x", covariance=np.diag([1, 1, 0j])))
    assert whitened(off).volume is off.volume
    assert whitened(off).notes == (*scan.notes, SINGULAR)
    assert "switched off" in describe(off)["noise"]


def test_inspect_tells_what_prewhitening_will_change(scan):
    assert "coils differ by a factor of 4.0 and correlate by up to 0.4" in describe(scan)["noise"]
