"""Measurements are the masked transform of their target, in one scale, and repeat by seed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from somamba.data.config import DataConfig
from somamba.data.simulation.measure import measure
from somamba.data.simulation.seeds import Draw
from somamba.errors import DataError
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c

DRAW = Draw(seed=0, epoch=0, case_id="c1", slice=3)
IMAGE = np.random.default_rng(0).random((32, 32)).astype(np.float32)
RAW = DataConfig(dataset="acdc", protocol="raw", mask="equispaced", n_coils=3, size=(32, 32))


def kspace(coils: int = 4) -> np.ndarray:
    draw = np.random.default_rng(1)
    return (draw.normal(size=(coils, 32, 32)) + 1j * draw.normal(size=(coils, 32, 32))).astype(np.complex64)


def test_magnitude_measures_the_transform_of_the_real_image():
    sample = measure(IMAGE, DataConfig(), DRAW)
    full = fft2c(torch.from_numpy(IMAGE).to(torch.complex64))
    assert sample.kspace.shape == (1, 32, 32)
    assert torch.equal(sample.kspace[0][sample.mask[0]], full[sample.mask[0]])
    assert not sample.kspace[0][~sample.mask[0]].any()
    assert torch.equal(sample.target[0], torch.from_numpy(IMAGE))
    assert (sample.scale, sample.maps, sample.case_id, sample.slice) == (1.0, None, "c1", 3)


def test_simulated_measurements_are_what_the_operator_says():
    sample = measure(IMAGE, replace(RAW, combine="sense"), DRAW)
    coil_images = ifft2c(measure(IMAGE, replace(RAW, combine="sense", acceleration=1, masks="fixed"), DRAW).kspace)
    full = measure(IMAGE, replace(RAW, combine="sense", acceleration=1, masks="fixed"), DRAW)
    image = (full.maps.conj() * coil_images).sum(dim=0)
    torch.testing.assert_close(image.abs()[None], full.target, atol=1e-4, rtol=1e-4)
    predicted = encoding(sample.mask[None], sample.maps[None])(image[None, None] * full.scale / sample.scale)
    # Each scan is brought to the phase of its own zero-filled image, so both differ by a constant phase.
    turn = (predicted[0].conj() * sample.kspace).sum()
    assert abs(turn.angle()) < 0.1
    torch.testing.assert_close(predicted[0] * turn / turn.abs(), sample.kspace, atol=1e-4, rtol=1e-4)


def test_the_measured_target_is_the_root_sum_of_squares():
    sample = measure(kspace(), DataConfig(dataset="m4raw", protocol="raw"), DRAW)
    expected = root_sum_of_squares(ifft2c(torch.from_numpy(kspace()))[None])[0] / sample.scale
    torch.testing.assert_close(sample.target, expected)
    assert sample.maps is None


def test_scaling_the_scan_changes_only_the_scale():
    config = DataConfig(dataset="m4raw", protocol="raw")
    one, thousand = measure(kspace(), config, DRAW), measure(1000 * kspace(), config, DRAW)
    torch.testing.assert_close(one.kspace, thousand.kspace)
    torch.testing.assert_close(one.target, thousand.target)
    assert thousand.scale == pytest.approx(1000 * one.scale)


def test_a_single_bright_spike_hardly_moves_the_scale():
    config = replace(RAW, n_coils=1, masks="fixed", acceleration=1)
    spiked = IMAGE.copy()
    spiked[3, 4] = 100
    plain, other = measure(IMAGE, config, DRAW), measure(spiked, config, DRAW)
    assert other.scale == pytest.approx(plain.scale, rel=0.05)


def test_noise_has_the_stated_ratio_and_only_touches_what_is_measured():
    quiet, noisy = (measure(IMAGE, replace(RAW, snr=snr, masks="fixed"), DRAW) for snr in (None, 20.0))
    difference = noisy.kspace * noisy.scale - quiet.kspace * quiet.scale
    measured = noisy.mask.expand_as(difference)
    deviation = float(torch.quantile(torch.from_numpy(IMAGE), 0.99)) / 20
    assert float(difference[measured].real.std()) == pytest.approx(deviation, rel=0.15)
    assert not difference[~measured].any()
    torch.testing.assert_close(noisy.target * noisy.scale, quiet.target * quiet.scale)


def test_noise_differs_between_epochs_and_the_coils_do_not():
    config = replace(RAW, snr=20.0, masks="fixed", combine="sense")
    first, second = measure(IMAGE, config, DRAW), measure(IMAGE, config, replace(DRAW, epoch=1))
    assert not torch.equal(first.kspace, second.kspace)
    assert torch.equal(first.maps, second.maps)
    assert torch.equal(first.kspace, measure(IMAGE, config, DRAW).kspace)


def test_columns_that_were_never_acquired_are_not_in_the_mask():
    scan = kspace()
    scan[..., :5] = 0
    sample = measure(scan, DataConfig(dataset="m4raw", protocol="raw", acceleration=1, masks="fixed", snr=10.0), DRAW)
    assert not sample.mask[..., :5].any()
    assert sample.mask[..., 5:].all()
    assert not sample.kspace[..., :5].any()


def test_an_empty_measurement_is_refused():
    with pytest.raises(DataError, match="'c1', slice 3"):
        measure(np.zeros((2, 32, 32), np.complex64), DataConfig(dataset="m4raw", protocol="raw"), DRAW)
