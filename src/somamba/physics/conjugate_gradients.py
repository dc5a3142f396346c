"""Conjugate gradients for ``(A^H A + s) d = r``: compiled for coils and whole columns, in PyTorch for any operator."""

import logging
from collections.abc import Callable
from dataclasses import fields
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somamba.native.library import traced, why_not
from somamba.native.solve import LineSolver, radices
from somamba.physics.encoding import Coils, Fourier, Sampling, Weighting, coil_maps
from somamba.physics.operator import LinearOperator
from somamba.runtime.device import runs_ahead
from somamba.shapes import Images, KSpace

logger = logging.getLogger(__name__)

CHECK_EVERY = 8
"""Iterations between two looks at the tolerance on a device that runs ahead of the host; a look waits for it."""


class NormalEquations:
    """The system ``(A^H A + s) d = A^H (y - A x)``: its right side, and its solution."""

    def __init__(self, A: LinearOperator, strength: Tensor, iterations: int, tolerance: int | float) -> None:
        """Say how the system is solved.

        Args:
            A: Any linear operator.
            strength: ``s``, a positive number or (batch, 1, 1, 1) of them.
            iterations: At most this many.
            tolerance: Each slice stops on its own at this residual, relative to its first one.
        """
        self.A, self.strength, self.iterations, self.tolerance = A, strength, iterations, tolerance
        self._compiled: LineSolver | None = None

    def right(self, x: Images, y: KSpace) -> Images:
        """``A^H (y - A x)``, which gradients pass through.

        As written it is exactly zero for a consistent image. If only the image wants a gradient and the kernels can
        run, it is ``A^H y - A^H A x``, and the kernels apply ``A^H A`` on both ways.
        """
        maps = coil_maps(self.A)
        if x.requires_grad and torch.is_grad_enabled() and maps is not None and not learns(self.A):
            self._compiled = _line_solver(self.A, x)
            if self._compiled is not None:
                return _measured(self.A, y, maps) - _Gram.apply(x, self._compiled)  # type: ignore[no-untyped-call]
        return self.A.adjoint(y - self.A(x))

    @torch.no_grad()
    def solve(self, right: Images) -> Images:
        """``d`` for a right side. It may be called several times, and gradients do not pass through it."""
        A, strength, iterations, tolerance = self.A, self.strength, self.iterations, self.tolerance
        self._compiled = self._compiled or _line_solver(A, right)
        # Raw k-space may be of order 1e-7 or smaller: unit scale keeps the squares to come away from underflow.
        scale = right.abs().amax(dim=(1, 2, 3), keepdim=True)
        scale = torch.where(scale > 0, scale, 1)
        with torch.autocast(right.device.type, enabled=False):
            if self._compiled is not None:
                solution, taken = self._compiled(right / scale, strength.flatten(), iterations, tolerance)
            else:
                solution, taken = _solve(lambda d: A.gram(d) + strength * d, right / scale, iterations, tolerance)
        if taken == iterations:
            logger.info("conjugate gradients stopped after %d iterations, before the tolerance %g", taken, tolerance)
        return solution * scale


def learns(A: LinearOperator) -> bool:
    """Whether a gradient may be wanted for a tensor in ``A``; what is not a tensor may hold some."""
    held = [getattr(factor, field.name) for factor in A.factors for field in fields(factor)]
    return any(not isinstance(part, Tensor) or part.requires_grad for part in held)


_MEASURED: "WeakKeyDictionary[LinearOperator, tuple[Tensor, tuple[int, int], Images]]" = WeakKeyDictionary()
"""The last measurements of an operator, the versions of them and of its maps, and their image ``A^H y``."""


def _measured(A: LinearOperator, y: KSpace, maps: Tensor) -> Images:
    """``A^H y``, which every group of a network asks for with the same operator: it is computed once."""
    if y.requires_grad or y.is_inference() or maps.is_inference():  # Without a version a change would pass unseen.
        return A.adjoint(y)
    versions = y._version, maps._version
    known = _MEASURED.get(A)
    if known is None or known[0] is not y or known[1] != versions:
        known = _MEASURED[A] = (y, versions, A.adjoint(y))
    return known[2]


class _Gram(torch.autograd.Function):
    """``A^H A`` by the kernels: it is its own adjoint."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, compiled: LineSolver) -> Tensor:
        ctx.compiled = compiled
        return compiled.gram(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.compiled.gram(gradient), None


def _line_solver(A: LinearOperator, right: Images) -> LineSolver | None:
    """The compiled loop if it can run: maps, and whole columns acquired, complex64 on the CPU; else None."""
    match A.factors:
        case (Sampling(mask=mask), Fourier(), Coils(maps=maps)):
            weights = mask
        case (Weighting(root=root), Sampling(mask=mask), Fourier(), Coils(maps=maps)):
            weights = root.detach().square() * mask
        case _:
            return None
    single = right.dtype == maps.dtype == torch.complex64 and right.device.type == maps.device.type == "cpu"
    if single and weights.shape[-2] == right.shape[1] == 1 and not traced() and why_not() is None:
        return None if radices(right.shape[-1]) is None else LineSolver(weights, maps.detach())
    return None


def _solve(
    normal: Callable[[Tensor], Tensor], right: Tensor, iterations: int, tolerance: int | float
) -> tuple[Tensor, int]:
    """Solve ``normal(d) = right`` for a Hermitian positive map, every slice with its own step lengths.

    Args:
        normal: The map.
        right: The right side, of unit scale.
        iterations: The most iterations.
        tolerance: A slice stops at this residual, relative to its first one.

    Returns:
        The solution, and the number of iterations.
    """
    residual = direction = right
    solution = torch.zeros_like(residual)
    energy = _inner(residual, residual)
    goal = tolerance**2 * energy
    every = CHECK_EVERY if runs_ahead(right.device) else 1
    for iteration in range(iterations):
        done = energy <= goal
        if iteration % every == 0 and bool(done.all()):
            return solution, iteration
        applied = normal(direction)
        # A slice that is done stands still, whatever the others in the batch still need.
        length = torch.where(done, 0, energy / torch.where(done, 1, _inner(direction, applied)))
        solution = solution + length * direction
        residual = residual - length * applied
        previous, energy = energy, _inner(residual, residual)
        direction = residual + torch.where(done, 0, energy / torch.where(done, 1, previous)) * direction
    return solution, iterations


def _inner(a: Tensor, b: Tensor) -> Tensor:
    """The real inner product of each slice, (batch, 1, 1, 1)."""
    return (a.conj() * b).real.sum(dim=(1, 2, 3), keepdim=True)
