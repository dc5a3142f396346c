"""Operators compose, and a composition knows what it is made of."""

import pytest
import torch

from somamba.physics.encoding import Coils, Fourier, Sampling, encoding
from somamba.physics.operator import Composed

MASK = torch.tensor([True, False, True, True, False, True])[None, None, None]
MAPS = torch.ones(1, 3, 8, 6, dtype=torch.complex64)
M, F, S = Sampling(MASK), Fourier(), Coils(MAPS)


def test_composition_applies_the_inner_map_first(rng):
    x = torch.randn(1, 1, 8, 6, dtype=torch.complex64, generator=rng)
    assert torch.equal((M @ F @ S)(x), M(F(S(x))))
    y = torch.randn(1, 3, 8, 6, dtype=torch.complex64, generator=rng)
    assert torch.equal((M @ F @ S).adjoint(y), S.adjoint(F.adjoint(M.adjoint(y))))


@pytest.mark.parametrize(
    ("operator", "unitary", "partial_isometry"),
    [
        (F, True, True),
        (M, False, True),
        (S, False, False),
        (F @ F, True, True),
        (M @ F, False, True),
        (F @ M, False, True),
        (M @ F @ M, False, False),
        (M @ F @ S, False, False),
        (M @ (F @ S), False, False),
    ],
    ids=repr,
)
def test_unitary_and_partial_isometry_follow_from_the_factors(operator, unitary, partial_isometry):
    assert operator.unitary is unitary
    assert operator.partial_isometry is partial_isometry


def test_factors_come_outermost_first_however_they_were_bracketed():
    assert (M @ (F @ S)).factors == ((M @ F) @ S).factors == (M, F, S)


def test_it_prints_as_algebra_with_shapes():
    assert repr(encoding(MASK, MAPS)) == "Sampling(1×1×1×6, 4 acquired) @ Fourier @ Coils(1×3×8×6)"


def test_it_moves_to_a_device_as_a_whole_and_leaves_the_original():
    A = M @ F @ S
    moved = A.to("meta")
    assert isinstance(moved, Composed)
    assert [factor.mask.device.type for factor in moved.factors if isinstance(factor, Sampling)] == ["meta"]
    assert [factor.maps.device.type for factor in moved.factors if isinstance(factor, Coils)] == ["meta"]
    assert S.maps.device.type == "cpu"


def test_an_operator_cannot_be_changed():
    with pytest.raises(AttributeError):
        M.mask = ~MASK
