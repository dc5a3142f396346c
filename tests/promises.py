"""Promises that many parts make, written once and asked of each of them."""

import math

import torch
from torch import Generator
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from somamba.physics.operator import LinearOperator


def complex_normal(shape: tuple[int, ...], rng: Generator, dtype: torch.dtype = torch.complex128) -> torch.Tensor:
    """Seeded complex noise; double precision unless told, so that a promise is not blurred by rounding."""
    return torch.randn(shape, dtype=dtype, generator=rng)


def keeps_the_adjoint_identity(
    operator: LinearOperator, domain: tuple[int, ...], codomain: tuple[int, ...], rng: Generator
) -> None:
    """``<A x, y> == <x, A^H y>`` for random x and y, and both maps end in the right space."""
    x, y = complex_normal(domain, rng), complex_normal(codomain, rng)
    there, back = operator(x), operator.adjoint(y)
    assert there.shape == codomain
    assert back.shape == domain
    torch.testing.assert_close(torch.vdot(there.flatten(), y.flatten()), torch.vdot(x.flatten(), back.flatten()))


def is_linear(operator: LinearOperator, domain: tuple[int, ...], rng: Generator) -> None:
    """``A(a x + b z) == a A x + b A z`` for complex a and b."""
    x, z = complex_normal(domain, rng), complex_normal(domain, rng)
    a, b = 2 - 1j, 0.5 + 3j
    torch.testing.assert_close(operator(a * x + b * z), a * operator(x) + b * operator(z))


def is_what_it_says_it_is(operator: LinearOperator, domain: tuple[int, ...], rng: Generator) -> None:
    """``unitary`` and ``partial_isometry`` tell the truth, in both directions, on random data."""
    x = complex_normal(domain, rng)
    image = operator(x)
    again = operator(operator.adjoint(image))
    assert operator.partial_isometry == torch.allclose(again, image)
    assert operator.unitary == torch.allclose(operator.adjoint(image), x)


def dense(operator: LinearOperator, domain: tuple[int, ...]) -> torch.Tensor:
    """The matrix of an operator on a small grid, column by column."""
    basis = torch.eye(torch.Size(domain).numel(), dtype=torch.complex128)
    return torch.stack([operator(unit.reshape(domain)).flatten() for unit in basis], dim=1)


def relative_error(value: torch.Tensor, oracle: torch.Tensor) -> float:
    """``max |a - b| / max |b|``; NaN if either holds one. Where b is zero throughout, a must be as well."""
    if value.shape != oracle.shape:
        return math.inf
    if not oracle.any():
        return math.inf if value.any() else 0.0
    wide = torch.promote_types(oracle.dtype, torch.float64)
    return float((value.to(wide) - oracle.to(wide)).abs().max() / oracle.abs().max())


class Looks(TorchDispatchMode):
    """Counts how often Python looks at a number of a tensor: ``item()``, ``float()``, ``bool()``, an index by a mask.

    On a GPU each look waits for everything that is queued. `tolist`, `cpu` and `numpy` are counted where they are
    called, because a tensor that is on the CPU already gives its numbers without an operator.
    """

    LOOKING = (torch.ops.aten._local_scalar_dense, torch.ops.aten.equal, torch.ops.aten.nonzero)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._calls = _Calls(self)

    def __enter__(self):
        self._calls.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._calls.__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        del types
        self.count += func.overloadpacket in self.LOOKING
        return func(*args, **(kwargs or {}))


class _Calls(TorchFunctionMode):
    def __init__(self, looks: Looks) -> None:
        super().__init__()
        self._looks = looks

    def __torch_function__(self, func, types, args=(), kwargs=None):
        del types
        self._looks.count += getattr(func, "__name__", "") in ("tolist", "cpu", "numpy")
        return func(*args, **(kwargs or {}))
