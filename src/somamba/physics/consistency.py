"""Data consistency: bring an image back to what was measured.

`project` is exact if ``A A^H A == A`` (one coil, or every coil on its own). `proximal` is for sensitivity maps,
where ``A^H`` no longer solves ``A x = y``. `soften` takes a step of learned length. All run in float32 or better, also
under autocast: it leaves complex values alone, and is switched off besides.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from typing_extensions import override

from somamba.errors import ConfigError, InputError
from somamba.physics.conjugate_gradients import NormalEquations, learns
from somamba.physics.operator import LinearOperator
from somamba.registry import Registry
from somamba.runtime.device import runs_ahead
from somamba.shapes import Images, KSpace

STRENGTH = 0.05
"""Start of the proximal strength: small against the eigenvalue 1 of ``A^H A``, large enough for quick convergence."""


def project(x: Images, y: KSpace, A: LinearOperator) -> Images:
    """Replace what was measured and keep the rest: ``x + A^H (y - A x)``.

    Args:
        x: The image.
        y: The measurements.
        A: How they were measured.

    Raises:
        InputError: ``A`` is not a partial isometry, so this would not reproduce the measurements.
    """
    _check_partial_isometry(A)
    return soften(x, y, A, 1.0)


def soften(x: Images, y: KSpace, A: LinearOperator, weight: int | float | Tensor) -> Images:
    """Move towards the measurements: ``x + w A^H (y - A x)``. Weight 1 is `project`, 0 changes nothing.

    Args:
        x: The image.
        y: The measurements.
        A: How they were measured.
        weight: The weight w.
    """
    with torch.autocast(x.device.type, enabled=False):
        step = A.adjoint(y - A(x))
        return x + (step if isinstance(weight, int | float) and weight == 1 else weight * step)


def proximal(
    x: Images,
    y: KSpace,
    A: LinearOperator,
    strength: int | float | Tensor,
    *,
    iterations: int = 100,
    tolerance: int | float = 1e-6,
) -> Images:
    """Solve ``(A^H A + s) x' = A^H y + s x`` by conjugate gradients: the best compromise between ``y`` and ``x``.

    The correction ``x' - x`` is solved for, so a consistent image comes back unchanged. Gradients are implicit: they
    solve the same system once more and keep no iterate, and they reach ``x``, ``y``, ``s`` and the tensors in ``A``.

    Args:
        x: The image to stay close to.
        y: The measurements.
        A: Any linear operator.
        strength: How closely to keep to ``x``; a positive number, or a tensor (1,) or (batch, 1, 1, 1) of them.
        iterations: At most this many.
        tolerance: Each slice stops on its own at this residual, relative to its first one.

    Raises:
        InputError: the strength is not positive. A tensor on a device that runs ahead of the host is not looked at,
            which would wait for it; the image is NaN then.
    """
    s = torch.as_tensor(strength, dtype=x.dtype.to_real())
    if runs_ahead(s.device):
        s = torch.where(s > 0, s, torch.nan)
    elif not bool((s > 0).all()):
        raise InputError(f"The proximal strength must be positive, got {s.min().item():g}. For none use 'hard'.")
    if s.ndim > 0:  # A plain number may stay on the host: a copy would wait.
        s = s.to(x.device)

    system = NormalEquations(A, s.detach(), iterations, tolerance)
    with torch.autocast(x.device.type, enabled=False):
        right = system.right(x, y)
        correction = system.solve(right)
        if right.requires_grad or s.requires_grad:
            residual = right - s * correction
            if learns(A):
                residual = residual - A.gram(correction)
            correction = _Implicit.apply(residual, correction, system.solve)  # type: ignore[no-untyped-call]
        return x + correction


class _Implicit(torch.autograd.Function):
    """Give a solution ``d`` of ``K d = r`` its gradient: ``K^-1`` of it goes to the residual ``r - K d``.

    The value of the residual is not used: parts of it that no gradient passes through may be left out.
    """

    @staticmethod
    def forward(ctx: Any, residual: Tensor, solution: Tensor, solve: Callable[[Tensor], Tensor]) -> Tensor:  # noqa: ARG004
        ctx.solve = solve
        return solution.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return ctx.solve(gradient), None, None


class Consistency(nn.Module, ABC):
    """A data-consistency step of an unrolled network."""

    @abstractmethod
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        """Bring ``x`` back to the measurements ``y``.

        Args:
            x: The image.
            y: The measurements.
            A: How they were measured.
        """


class HardConsistency(Consistency):
    """Replace what was measured. It learns nothing."""

    @override
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        return project(x, y, A)


class SoftConsistency(Consistency):
    """Blend with what was measured, by one learned weight between 0 and 1."""

    def __init__(self, weight: int | float = 0.9) -> None:
        super().__init__()
        if not 0 < weight < 1:
            raise ConfigError(f"weight={weight:g} must lie between 0 and 1, both excluded; for 1 choose 'hard'.")
        self.logit = nn.Parameter(torch.tensor(math.log(weight / (1 - weight))))

    @override
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        return soften(x, y, A, torch.sigmoid(self.logit))


SOLVED = (40, 1e-4)
"""Iterations and tolerance that a reconstruction cannot be told apart from the exact step with: 0.01 dB."""


class ProximalConsistency(Consistency):
    """Compromise between image and measurements, by one positive strength, learned or fixed.

    ``iterations`` and ``tolerance`` bound the conjugate gradients while training, where a rough step is cheap and the
    next group starts from its result. In use a step is always solved, to `SOLVED` at least.
    """

    raw_strength: Tensor

    def __init__(
        self,
        strength: int | float = STRENGTH,
        *,
        learned: bool = True,
        iterations: int = 100,
        tolerance: int | float = 1e-6,
    ) -> None:
        super().__init__()
        if not strength > 0:
            raise ConfigError(f"strength={strength:g} must be positive; for none choose 'hard'.")
        raw = torch.tensor(strength + math.log(-math.expm1(-strength)))  # the inverse of softplus
        if learned:
            self.raw_strength = nn.Parameter(raw)
        else:
            self.register_buffer("raw_strength", raw, persistent=False)
        self.iterations = iterations
        self.tolerance = tolerance

    @override
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        iterations, tolerance = self.iterations, self.tolerance
        if not self.training:
            iterations, tolerance = max(iterations, SOLVED[0]), min(tolerance, SOLVED[1])
        return proximal(x, y, A, F.softplus(self.raw_strength), iterations=iterations, tolerance=tolerance)


class AutoConsistency(Consistency):
    """The step that suits the operator: `choose_consistency` decides in every call.

    The proximal strength is fixed here: a parameter that single-coil data never reach would break distributed training.
    """

    def __init__(self, *, iterations: int = 100, tolerance: int | float = 1e-6) -> None:
        super().__init__()
        step = ProximalConsistency(learned=False, iterations=iterations, tolerance=tolerance)
        self.steps = nn.ModuleDict({"hard": HardConsistency(), "proximal": step})

    @override
    def forward(self, x: Images, y: KSpace, A: LinearOperator) -> Images:
        return self.steps[choose_consistency("auto", A)](x, y, A)


CONSISTENCIES: Registry[type[Consistency]] = Registry(
    "data consistency",
    {"auto": AutoConsistency, "hard": HardConsistency, "soft": SoftConsistency, "proximal": ProximalConsistency},
)


def make_consistency(name: str, *, iterations: int, tolerance: int | float) -> Consistency:
    """Build the entry of this name; those that solve by conjugate gradients stop as told, see `proximal`.

    Args:
        name: The name of the entry.
        iterations: The most iterations of conjugate gradients.
        tolerance: The relative residual at which they stop.
    """
    kind = CONSISTENCIES[name]
    if kind is AutoConsistency or kind is ProximalConsistency:
        return kind(iterations=iterations, tolerance=tolerance)
    return kind()


def choose_consistency(name: str, A: LinearOperator) -> str:
    """Which entry of `CONSISTENCIES` serves ``A``: ``auto`` is hard for a partial isometry, proximal otherwise.

    Raises:
        UnknownNameError: no entry has this name.
        InputError: hard replacement was asked for by name and would not reproduce the measurements.
    """
    if CONSISTENCIES[name] is AutoConsistency:
        return "hard" if A.partial_isometry else "proximal"
    if CONSISTENCIES[name] is HardConsistency:
        _check_partial_isometry(A)
    return name


def _check_partial_isometry(A: LinearOperator) -> None:
    if not A.partial_isometry:
        raise InputError(
            f"Hard replacement needs an operator with A A^H A = A, and {A!r} is none: its coil maps overlap. "
            "Use 'proximal', or leave out the maps to treat each coil on its own."
        )
