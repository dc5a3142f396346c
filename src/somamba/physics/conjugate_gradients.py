"""Conjugate gradients for ``(A^H A + s) d = r``: compiled for coils and whole columns, in PyTorch for any operator."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from somamba.native.library import traced, why_not
from somamba.native.solve import LineSolver, radices
from somamba.physics.encoding import Coils, Fourier, Sampling, Weighting
from somamba.physics.operator import LinearOperator
from somamba.runtime.device import runs_ahead
from somamba.shapes import Images

logger = logging.getLogger(__name__)

CHECK_EVERY = 8
"""Iterations between two looks at the tolerance on a device that runs ahead of the host; a look waits for it."""


def make_solver(
    A: LinearOperator, strength: Tensor, iterations: int, tolerance: int | float
) -> Callable[[Images], Images]:
    """Return the function from ``r`` to ``d``; it may be called several times, and gradients do not pass through it.

    Args:
        A: Any linear operator.
        strength: ``s``, a positive number or (batch, 1, 1, 1) of them.
        iterations: At most this many.
        tolerance: Each slice stops on its own at this residual, relative to its first one.
    """
    compiled: LineSolver | None = None

    @torch.no_grad()
    def solve(right: Images) -> Images:
        nonlocal compiled
        compiled = compiled or _line_solver(A, right)
        # Raw k-space may be of order 1e-7 or smaller: unit scale keeps the squares to come away from underflow.
        scale = right.abs().amax(dim=(1, 2, 3), keepdim=True)
        scale = torch.where(scale > 0, scale, 1)
        with torch.autocast(right.device.type, enabled=False):
            if compiled is not None:
                solution, taken = compiled(right / scale, strength.flatten(), iterations, tolerance)
            else:
                solution, taken = _solve(lambda d: A.gram(d) + strength * d, right / scale, iterations, tolerance)
        if taken == iterations:
            logger.info("conjugate gradients stopped after %d iterations, before the tolerance %g", taken, tolerance)
        return solution * scale

    return solve


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
