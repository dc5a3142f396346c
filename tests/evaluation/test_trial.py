"""A trial gives every method the same samples and judges by the whole scan."""

import numpy as np
import pytest
import torch

from somamba.data.phantom import ellipses
from somamba.data.simulation.scanner import coil_maps, complex_noise
from somamba.errors import InputError
from somamba.evaluation.trial import undersample
from somamba.inference.undersampling import Undersampling
from somamba.models.zoo import build
from somamba.physics.fourier import fft2c, ifft2c


@pytest.fixture(scope="module")
def kspace():
    image = torch.from_numpy(ellipses(1, (48, 48), seed=1))
    full = fft2c(image * coil_maps(6, (48, 48), seed=2))
    return full + complex_noise(tuple(full.shape), 0.5, seed=3)


@pytest.fixture(scope="module")
def trial(kspace):
    return undersample(kspace, Undersampling(acceleration=2, calibration=12))


def test_as_many_columns_are_kept_as_were_asked_for(trial):
    assert len(trial.mask.lines) == 24
    assert trial.mask.calibration >= 12
    assert not trial.measured.kspace[..., ~trial.mask.pattern[0]].any()


def test_the_reference_is_what_all_samples_give(kspace, trial):
    root = np.linalg.norm(ifft2c(kspace).numpy(), axis=0)
    seen = trial.reference != 0
    assert np.median(np.abs(np.abs(trial.reference[seen]) - root[seen])) < 0.02 * root.max()


def test_least_squares_beats_the_zero_filled_image(trial):
    zero_filled, least_squares = (trial.attempt(name, build(name)) for name in ("zero_filled", "cg_sense"))
    assert least_squares.scores.psnr > zero_filled.scores.psnr + 3
    assert least_squares.method == "cg_sense"
    assert least_squares.image.shape == (48, 48)
    assert least_squares.seconds > 0


def test_a_scan_with_gaps_is_refused(kspace):
    broken = kspace.clone()
    broken[..., 5] = 0
    with pytest.raises(InputError, match="fully sampled slice"):
        undersample(broken, Undersampling(acceleration=2, calibration=12))
