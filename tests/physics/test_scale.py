"""One scale for training and reconstruction: the 99th percentile of the zero-filled image."""

import numpy as np
import pytest
import torch

from promises import complex_normal
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.encoding import encoding
from somamba.physics.scale import brightness, zero_filled_scale

MASK = torch.arange(18) % 3 == 0


def test_with_maps_it_is_the_percentile_of_the_combined_image(rng):
    y, maps = (complex_normal((1, 4, 15, 18), rng, torch.complex64) for _ in range(2))
    A = encoding(MASK, maps)
    assert zero_filled_scale(y, A) == pytest.approx(np.quantile(A.adjoint(y).abs().numpy(), 0.99), rel=1e-6)


def test_without_maps_it_is_the_percentile_of_the_root_sum_of_squares(rng):
    y = complex_normal((1, 4, 15, 18), rng, torch.complex64)
    A = encoding(MASK)
    expected = np.quantile(root_sum_of_squares(A.adjoint(y)).numpy(), 0.99)
    assert zero_filled_scale(y, A) == pytest.approx(expected, rel=1e-6)


def test_a_spike_does_not_decide_how_bright_an_image_is(rng):
    image = torch.rand(32, 32, generator=rng)
    spiked = image.clone()
    spiked[3, 4] = 1000
    assert brightness(spiked) == pytest.approx(brightness(image), rel=0.02)
