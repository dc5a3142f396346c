"""One scale for training and reconstruction: the 99th percentile of the zero-filled image, and its phase."""

import cmath

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
    assert abs(zero_filled_scale(y, A)) == pytest.approx(np.quantile(A.adjoint(y).abs().numpy(), 0.99), rel=1e-6)


def test_without_maps_it_is_the_percentile_of_the_root_sum_of_squares(rng):
    y = complex_normal((1, 4, 15, 18), rng, torch.complex64)
    A = encoding(MASK)
    expected = np.quantile(root_sum_of_squares(A.adjoint(y)).numpy(), 0.99)
    assert abs(zero_filled_scale(y, A)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("angle", [0.0, 1.0, -2.5, 3.1])
def test_a_real_image_keeps_its_phase_and_a_turned_one_is_turned_back(angle, rng):
    image = torch.rand(1, 1, 15, 18, generator=rng) - 0.2
    A = encoding(torch.ones(18))
    scale = zero_filled_scale(A(image * cmath.rect(1, angle)), A)
    assert scale / abs(scale) == pytest.approx(cmath.rect(1, angle), abs=1e-5)


def test_divided_by_it_the_real_part_has_most_of_the_energy(rng):
    A = encoding(MASK)
    y = A(complex_normal((1, 4, 15, 18), rng, torch.complex64) + 0.3j)
    found = A.adjoint(y / zero_filled_scale(y, A))
    energy = [float((found * cmath.rect(1, angle)).real.square().sum()) for angle in np.linspace(0, np.pi, 50)]
    assert max(energy) <= energy[0] * (1 + 1e-6)
    assert float(found.real.sum()) > 0


def test_nothing_measured_has_no_scale():
    assert zero_filled_scale(torch.zeros(1, 2, 15, 18, dtype=torch.complex64), encoding(MASK)) == 0


def test_a_spike_does_not_decide_how_bright_an_image_is(rng):
    image = torch.rand(32, 32, generator=rng)
    spiked = image.clone()
    spiked[3, 4] = 1000
    assert brightness(spiked) == pytest.approx(brightness(image), rel=0.02)
