"""CG-SENSE solves the regularised least-squares problem."""

import pytest
import torch

from promises import complex_normal
from somamba.errors import ConfigError
from somamba.models.classical.cg_sense import CGSense, CGSenseConfig
from somamba.physics.encoding import encoding
from somamba.physics.masks import equispaced

MAPS = complex_normal((1, 4, 15, 24), torch.Generator().manual_seed(1), torch.complex64)
MAPS = MAPS / torch.linalg.vector_norm(MAPS, dim=1, keepdim=True)
A = encoding(equispaced(24, 2).tensor(), MAPS)


def test_the_image_solves_the_normal_equations(rng):
    y = A(complex_normal((1, 1, 15, 24), rng, torch.complex64))
    image = CGSense(CGSenseConfig(strength=0.1, iterations=100, tolerance=1e-7))(y, A)
    torch.testing.assert_close(A.adjoint(A(image)) + 0.1 * image, A.adjoint(y), atol=1e-5, rtol=1e-5)


def test_enough_coils_give_the_image_back(rng):
    truth = complex_normal((1, 1, 15, 24), rng, torch.complex64)
    image = CGSense(CGSenseConfig(strength=1e-6, iterations=500, tolerance=1e-7))(A(truth), A)
    error = torch.linalg.vector_norm(image - truth) / torch.linalg.vector_norm(truth)
    zero_filled = torch.linalg.vector_norm(A.adjoint(A(truth)) - truth) / torch.linalg.vector_norm(truth)
    assert error < 0.05 < zero_filled


def test_without_maps_it_is_the_zero_filled_image_but_for_the_regularisation(rng):
    alone = encoding(equispaced(24, 2).tensor())
    y = alone(complex_normal((1, 2, 15, 24), rng, torch.complex64))
    image = CGSense(CGSenseConfig(strength=0.25))(y, alone)
    torch.testing.assert_close(image * 1.25, alone.adjoint(y), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("wrong", [{"iterations": 0}, {"strength": 0.0}, {"tolerance": -1.0}])
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(ConfigError):
        CGSenseConfig(**wrong)
