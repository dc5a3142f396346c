"""The filtered LeakyReLU: the filter of the public code, its definition step by step, and less aliasing."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.signal import firwin

from somamba.models.lmo.activation import FilteredLeakyReLU, low_pass


@pytest.mark.parametrize("size", [256, 320])
def test_the_filter_is_the_one_that_scipy_designs_for_any_size(size):
    # As the public code calls it: cut off at size / 2.0001, half-width 0.8 size - cutoff, sampled at 2 size.
    cutoff = size / 2.0001
    expected = firwin(12, cutoff, width=2 * (0.8 * size - cutoff), fs=2 * size)
    assert np.allclose(low_pass(), expected, atol=1e-8)


def rise(row):
    """Twice as many samples along one axis: zeros inserted, 11 zeros in front and 10 behind, 12 taps."""
    taps = low_pass().numpy()
    finer = np.zeros(2 * len(row) + 21)
    finer[11 : 11 + 2 * len(row) : 2] = row
    return np.convolve(finer, 2 * taps, mode="valid")


def along(function, image, axis):
    return np.apply_along_axis(function, axis, image)


def test_activation_is_upsampling_leaky_relu_and_downsampling(rng):
    layer = FilteredLeakyReLU(2).double()
    layer.rise, layer.fall = (2 * low_pass().view(6, 2).T).flip(1), low_pass().view(6, 2).T.contiguous()
    torch.nn.init.normal_(layer.bias, generator=rng)
    features = torch.randn(1, 2, 7, 10, dtype=torch.float64, generator=rng)
    fine = (features + layer.bias.view(-1, 1, 1)).detach().numpy()[0]
    fine = along(rise, along(rise, fine, 2), 1)
    fine = math.sqrt(2) * np.where(fine > 0, fine, 0.2 * fine)
    taps = low_pass().numpy()
    for axis in (1, 2):
        fine = along(lambda row: np.convolve(row, taps, mode="valid")[::2], fine, axis)
    assert np.allclose(layer(features).detach().numpy()[0], fine)


def test_aliasing_is_much_less_than_that_of_a_plain_leaky_relu():
    # The second harmonic of 0.35 cycles per pixel lies at 0.7 and folds back to 0.3.
    wave = torch.cos(2 * math.pi * 0.35 * torch.arange(100)).expand(1, 1, 100, 100)

    def folded(image):
        spectrum = torch.fft.rfft(image[0, 0, 50, 20:80]).abs()
        return spectrum[18] / spectrum[21]

    assert folded(FilteredLeakyReLU(1)(wave)) < 0.36 * folded(F.leaky_relu(wave, 0.2))


def test_far_from_the_edge_a_constant_only_gets_the_gain():
    inside = FilteredLeakyReLU(1)(torch.ones(1, 1, 30, 30))[..., 12:18, 12:18]
    assert torch.allclose(inside, torch.tensor(math.sqrt(2)), atol=5e-3)
