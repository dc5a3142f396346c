"""Operators compose, and a composition knows what it is made of."""

import pytest
import torch

from promises import complex_normal, is_linear, is_what_it_says_it_is, keeps_the_adjoint_identity
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


ALGEBRA = {
    "adjoint": ((M @ F @ S).H, (1, 3, 8, 6), (1, 1, 8, 6)),
    "sum": (F @ S + (2 - 1j) * (M @ F @ S), (1, 1, 8, 6), (1, 3, 8, 6)),
    "scaled": ((0.5 + 3j) * (M @ F), (1, 3, 8, 6), (1, 3, 8, 6)),
    "turned": (1j * F, (1, 1, 8, 6), (1, 1, 8, 6)),
    "normal": ((M @ F @ S).H @ (M @ F @ S) + 0.1 * (F.H @ F), (1, 1, 8, 6), (1, 1, 8, 6)),
    "adjoint of a sum": ((F @ S + 2 * (M @ F @ S)).H, (1, 3, 8, 6), (1, 1, 8, 6)),
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_the_algebra_keeps_the_promises_of_an_operator(name, rng):
    operator, domain, codomain = ALGEBRA[name]
    keeps_the_adjoint_identity(operator, domain, codomain, rng)
    is_linear(operator, domain, rng)
    is_what_it_says_it_is(operator, domain, rng)


def test_the_algebra_means_what_it_says(rng):
    A, B = M @ F @ S, F @ S
    x, y = complex_normal((1, 1, 8, 6), rng), complex_normal((1, 3, 8, 6), rng)
    torch.testing.assert_close((A + B)(x), A(x) + B(x))
    torch.testing.assert_close((3j * A)(x), 3j * A(x))
    torch.testing.assert_close((3j * A).adjoint(y), -3j * A.adjoint(y))
    assert torch.equal(A.H(y), A.adjoint(y))
    assert A.H.H is A
    torch.testing.assert_close((A.H @ A)(x), A.gram(x))


def test_the_algebra_prints_and_moves():
    A = encoding(MASK, MAPS)
    assert repr(A.H) == f"({A!r}).H"
    assert repr(F.H) == "Fourier.H"
    assert repr(F + 2 * F) == "(Fourier + 2 * Fourier)"
    moved = (2 * A.H + A.H).to("meta")
    assert moved.first.operator.operator.factors[-1].maps.device.type == "meta"
    assert moved.second.operator.factors[-1].maps.device.type == "meta"
