"""The compiled conjugate gradients solve the system of coils and columns as it is written down, in complex128."""

import pytest
import torch

from native.machine import INSTRUCTION_SETS, needs_native
from promises import relative_error
from somamba.native.solve import LineSolver, radices
from somamba.physics.encoding import encoding

pytestmark = needs_native

# Rows, columns: fewer and more rows than a vector has lanes; powers of two, odd factors, the largest radix, a prime.
SIZES = [(1, 1), (3, 2), (16, 4), (5, 12), (17, 9), (33, 40), (7, 62), (4, 31), (20, 210), (2, 192), (6, 169)]


def made(size, *, batch=1, coils=3, shared=False, seed=0):
    rng = torch.Generator().manual_seed(seed)
    mask = torch.rand(1 if shared else batch, 1, 1, size[1], generator=rng) < 0.5
    mask[..., 0] = True
    maps = torch.randn(1 if shared else batch, coils, *size, dtype=torch.complex64, generator=rng)
    right = torch.randn(batch, 1, *size, dtype=torch.complex64, generator=rng)
    return mask, maps / maps.abs().square().sum(dim=1, keepdim=True).sqrt(), right


def residual(mask, maps, right, strengths, found):
    """What is left of the right side, in complex128."""
    A, found = encoding(mask, maps.to(torch.complex128)), found.to(torch.complex128)
    return right - A.adjoint(A(found)) - strengths.view(-1, 1, 1, 1) * found


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_the_system_is_solved(size, count, threads):
    threads(count)
    mask, maps, right = made(size)
    strengths = torch.tensor([0.3])
    found, taken = LineSolver(mask, maps)(right, strengths, 100, 1e-6)
    assert found.shape == right.shape
    assert taken < 100
    assert relative_error(residual(mask, maps, right, strengths, found) + right, right) < 1e-5


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("size", [(18, 60), (5, 22)], ids=str)
def test_every_instruction_set_solves_it(name, size, instruction_set):
    instruction_set(name)
    mask, maps, right = made(size)
    strengths = torch.tensor([0.2])
    found, _ = LineSolver(mask, maps)(right, strengths, 100, 1e-6)
    assert relative_error(residual(mask, maps, right, strengths, found) + right, right) < 1e-5


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_operator_and_its_adjoint_follow_each_other(size, shared):
    mask, maps, image = made(size, batch=2, shared=shared)
    exact = encoding(mask, maps.to(torch.complex128)).gram(image.to(torch.complex128))
    assert relative_error(LineSolver(mask, maps).gram(image), exact) < 1e-6


@pytest.mark.parametrize("shared", [True, False])
def test_every_slice_is_solved_on_its_own(shared):
    mask, maps, right = made((9, 20), batch=3, shared=shared)
    strengths = torch.tensor([0.1, 0.5, 2.0])
    together, most = LineSolver(mask, maps)(right, strengths, 100, 1e-4)
    taken = []
    for i in range(3):
        own = slice(None) if shared else slice(i, i + 1)
        alone, count = LineSolver(mask[own], maps[own])(right[i : i + 1], strengths[i], 100, 1e-4)
        assert torch.equal(alone, together[i : i + 1])
        taken.append(count)
    assert len(set(taken)) > 1
    assert most == max(taken)


def test_it_stops_at_the_tolerance_and_after_the_last_iteration():
    mask, maps, right = made((16, 48), coils=8)
    solver, strength = LineSolver(mask, maps), torch.tensor(0.01)
    rough, few = solver(right, strength, 100, 1e-1)
    fine, many = solver(right, strength, 100, 1e-4)
    assert few < many < 100
    for found, tolerance in ((rough, 1e-1), (fine, 1e-4)):
        assert residual(mask, maps, right, strength, found).norm() <= 1.01 * tolerance * right.norm()
    assert solver(right, strength, 2, 0.0)[1] == 2
    nothing, none = solver(torch.zeros_like(right), strength, 100, 1e-4)
    assert none == 0
    assert not nothing.any()


def test_nan_stays_in_its_slice():
    mask, maps, right = made((5, 8), batch=2)
    right[0, 0, 2, 3] = torch.nan
    found, _ = LineSolver(mask, maps)(right, torch.tensor(0.3), 10, 1e-6)
    assert found[0].isnan().any()
    assert found[1].isfinite().all()


def test_widths_are_split_into_factors():
    assert radices(192) == [4, 4, 4, 3]
    assert radices(1) == []
    assert radices(2 * 31) == [2, 31]
    assert radices(37) is None
