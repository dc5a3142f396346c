"""Every operator of the forward model keeps the same promises, and the doors refuse what does not fit."""

import math

import pytest
import torch

from promises import complex_normal, is_linear, is_what_it_says_it_is, keeps_the_adjoint_identity
from somamba.errors import InputError
from somamba.physics.encoding import Coils, Fourier, Sampling, check_measurement, encoding

MAPS = complex_normal((2, 3, 8, 6), torch.Generator().manual_seed(1))
MASK = torch.rand(2, 1, 8, 6, generator=torch.Generator().manual_seed(2)) < 0.5
LINES = torch.tensor([1, 0, 1, 1, 0, 1])

OPERATORS = {  # name: (operator, coils in, coils out)
    "coils": (Coils(MAPS), 1, 3),
    "fourier": (Fourier(), 3, 3),
    "sampling": (Sampling(MASK), 3, 3),
    "single coil": (encoding(MASK), 1, 1),
    "lines": (encoding(LINES), 1, 1),
    "coil by coil": (encoding(MASK), 3, 3),
    "sense": (encoding(MASK, MAPS), 1, 3),
    "sense with one set of maps for all": (encoding(LINES, MAPS[:1]), 1, 3),
}
each_operator = pytest.mark.parametrize("name", OPERATORS)


@each_operator
def test_adjoint_satisfies_the_dot_product_identity(name, rng):
    operator, n_in, n_out = OPERATORS[name]
    keeps_the_adjoint_identity(operator, (2, n_in, 8, 6), (2, n_out, 8, 6), rng)


@each_operator
def test_every_operator_is_linear(name, rng):
    operator, n_in, _ = OPERATORS[name]
    is_linear(operator, (2, n_in, 8, 6), rng)


@each_operator
def test_the_short_way_there_and_back_is_the_long_one(name, rng):
    operator, n_in, _ = OPERATORS[name]
    x = complex_normal((2, n_in, 8, 6), rng)
    torch.testing.assert_close(operator.gram(x), operator.adjoint(operator(x)))


@each_operator
def test_claims_of_isometry_are_true(name, rng):
    operator, n_in, _ = OPERATORS[name]
    is_what_it_says_it_is(operator, (2, n_in, 8, 6), rng)


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_nothing_leaks_from_outside_the_mask(poison):
    kspace = torch.full((1, 1, 2, 6), -1.0, dtype=torch.complex64)
    kspace[..., LINES == 0] = poison
    sampled = encoding(LINES).factors[0](kspace)
    assert torch.isfinite(sampled).all()
    assert torch.equal(sampled != 0, (LINES == 1).expand(1, 1, 2, 6))


def test_the_sign_of_a_value_outside_the_mask_is_not_kept_in_a_zero():
    kspace = torch.full((1, 1, 1, 6), -1.0 - 1.0j, dtype=torch.complex64)
    outside = encoding(LINES).factors[0](kspace)[..., LINES == 0]
    assert not torch.signbit(torch.view_as_real(outside)).any()


def test_a_nan_outside_the_mask_does_not_reach_the_gradient(rng):
    y = torch.where(MASK, complex_normal((2, 1, 8, 6), rng), math.nan).requires_grad_()
    encoding(MASK).adjoint(y).abs().sum().backward()
    assert torch.isfinite(y.grad).all()


@pytest.mark.parametrize(
    "mask", [LINES, LINES.bool(), LINES.double(), LINES[None].expand(8, 6), LINES[None, None, None].expand(2, 1, 8, 6)]
)
def test_masks_of_every_accepted_form_mean_the_same(mask, rng):
    x = complex_normal((2, 1, 8, 6), rng)
    assert torch.equal(encoding(mask)(x), encoding(LINES.bool()[None, None, None])(x))


@pytest.mark.parametrize(
    ("mask", "complaint"),
    [
        (torch.zeros(6, dtype=torch.bool), r"Empty mask: nothing is acquired\."),
        (torch.stack((MASK[0], torch.zeros_like(MASK[0]))), r"Empty mask.*slice 1 of the batch"),
        (torch.zeros(0), "Empty mask"),
        (torch.tensor([0.0, 0.5, 1.0]), r"only 0 and 1.*mask != 0"),
        (torch.tensor([0.0, math.nan, 1.0]), "only 0 and 1"),
        (torch.ones(6, dtype=torch.complex64), r"got torch\.complex64.*mask\.real"),
        (torch.ones(2, 8, 6), r"\(batch, 1, y, x\), got \(2, 8, 6\)"),
        (torch.ones(1, 3, 8, 6), r"got \(1, 3, 8, 6\).*coil axis is 1"),
    ],
)
def test_an_impossible_mask_is_refused(mask, complaint):
    with pytest.raises(InputError, match=complaint):
        encoding(mask)


@pytest.mark.parametrize(
    ("maps", "complaint"),
    [
        (MAPS[0], r"got \(3, 8, 6\).*maps\[None\]"),
        (MAPS.real, r"coil maps in complex64 or complex128, got torch\.float64"),
        (torch.full_like(MAPS, math.nan), r"288 of 288 samples are NaN or infinite, the first at \(0, 0, 0, 0\)"),
        (MAPS[..., :5], r"mask \(2, 1, 8, 6\) and the coil maps \(2, 3, 8, 5\) disagree"),
        (MAPS[:, :, :1], r"disagree in batch, y or x"),
        (MAPS[[0, 0, 1]], r"disagree in batch, y or x"),
    ],
)
def test_impossible_maps_are_refused(maps, complaint):
    with pytest.raises(InputError, match=complaint):
        encoding(MASK, maps)


@pytest.mark.parametrize(
    "A", [encoding(MASK), encoding(LINES), encoding(MASK, MAPS), encoding(LINES, MAPS[:1])], ids=repr
)
def test_what_the_operator_measured_is_accepted(A, rng):
    check_measurement(A(complex_normal((2, 1, 8, 6), rng)), A)


def test_any_number_of_coils_is_accepted_without_maps(rng):
    check_measurement(complex_normal((2, 5, 8, 6), rng), encoding(MASK))


def spoiled(value):
    y = torch.zeros(2, 3, 8, 6, dtype=torch.complex64)
    y[1, 2, 7, 0] = y[1, 2, 7, 5] = value
    return y


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        (torch.zeros(2, 8, 6, dtype=torch.complex64), r"got \(2, 8, 6\).*y\[:, None\]"),
        (torch.zeros(2, 3, 8, 6), r"measurements in complex64 or complex128, got torch\.float32"),
        (spoiled(math.nan), r"2 of 288 samples are NaN or infinite, the first at \(1, 2, 7, 0\)"),
        (spoiled(complex(0, -math.inf)), "2 of 288 samples"),
        (MAPS[:, :2], "maps of 3 coils, the measurements have 2.*same scan"),
        (MAPS[..., :5], r"mask \(2, 1, 8, 6\) and the measurements \(2, 3, 8, 5\) disagree in batch, y or x"),
        (MAPS[:, :, :5], "disagree in batch, y or x"),
        (MAPS[:1], "disagree in batch, y or x"),
    ],
)
def test_what_the_operator_cannot_have_measured_is_refused(y, complaint):
    with pytest.raises(InputError, match=complaint):
        check_measurement(y, encoding(MASK, MAPS))


def test_maps_are_not_stretched_over_the_rows_like_a_line_mask():
    with pytest.raises(InputError, match=r"coil maps \(2, 3, 1, 6\) and the measurements \(2, 3, 8, 6\) disagree"):
        check_measurement(MAPS, encoding(LINES, MAPS[:, :, :1]))


def test_an_operator_left_on_another_device_is_named():
    with pytest.raises(InputError, match=r"mask and the measurements lie on different devices, meta and cpu"):
        check_measurement(MAPS, encoding(MASK).to("meta"))
