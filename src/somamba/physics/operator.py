"""Linear maps that know their adjoint and print as the algebra they are: ``A @ B``, ``A + B``, ``2 * A``, ``A.H``."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from somamba.runtime.device import send


@dataclass(frozen=True, eq=False, repr=False)
class LinearOperator(ABC):
    """A linear map. A value: it may hold tensors, it never changes them.

    Two operators are equal only if they are the same object; comparing tensors element by element has no single answer.
    """

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """Apply the map."""

    @abstractmethod
    def adjoint(self, y: Tensor) -> Tensor:
        """Apply the adjoint: ``<A x, y> == <x, A.adjoint(y)>``."""

    def gram(self, x: Tensor) -> Tensor:
        """Apply ``A^H A``; operators that know a shorter way take it."""
        return self.adjoint(self(x))

    @property
    def unitary(self) -> bool:
        """Whether the adjoint is also the inverse."""
        return False

    @property
    def partial_isometry(self) -> bool:
        """Whether ``A A^H A == A``: then ``A^H`` solves ``A x = y`` exactly wherever it can be solved."""
        return self.unitary

    @property
    def factors(self) -> "tuple[LinearOperator, ...]":
        """The operators this one is composed of, outermost first."""
        return (self,)

    @property
    def H(self) -> "LinearOperator":
        """The adjoint as an operator of its own: ``A.H(y)`` is ``A.adjoint(y)``."""
        return Adjoint(self)

    def __matmul__(self, inner: "LinearOperator") -> "LinearOperator":
        return Composed(self, inner)

    def __add__(self, other: "LinearOperator") -> "LinearOperator":
        return Sum(self, other)

    def __rmul__(self, factor: int | float | complex) -> "LinearOperator":
        return Scaled(self, factor)

    def to(self, device: torch.device | str) -> "LinearOperator":
        """Return the same map with its tensors on ``device``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {
            name: send(value, device) for name, value in values.items() if isinstance(value, Tensor)
        }
        moved |= {name: value.to(device) for name, value in values.items() if isinstance(value, LinearOperator)}
        return replace(self, **moved)

    def __repr__(self) -> str:
        shapes = ", ".join("×".join(map(str, getattr(self, field.name).shape)) for field in fields(self))
        return f"{type(self).__name__}({shapes})"


@dataclass(frozen=True, eq=False, repr=False)
class Composed(LinearOperator):
    """``outer(inner(x))``; made by ``outer @ inner``."""

    outer: LinearOperator
    inner: LinearOperator

    @override
    def __call__(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x))

    @override
    def adjoint(self, y: Tensor) -> Tensor:
        return self.inner.adjoint(self.outer.adjoint(y))

    @override
    def gram(self, x: Tensor) -> Tensor:
        return self.inner.adjoint(self.outer.gram(self.inner(x)))

    @property
    @override
    def unitary(self) -> bool:
        return self.outer.unitary and self.inner.unitary

    @property
    @override
    def partial_isometry(self) -> bool:
        # A product of two partial isometries need not be one; a unitary factor on either side is safe.
        return (self.outer.partial_isometry and self.inner.unitary) or (
            self.outer.unitary and self.inner.partial_isometry
        )

    @property
    @override
    def factors(self) -> tuple[LinearOperator, ...]:
        return (*self.outer.factors, *self.inner.factors)

    @override
    def __repr__(self) -> str:
        return " @ ".join(map(repr, self.factors))


@dataclass(frozen=True, eq=False, repr=False)
class Adjoint(LinearOperator):
    """``A^H``; made by ``A.H``."""

    operator: LinearOperator

    @override
    def __call__(self, x: Tensor) -> Tensor:
        return self.operator.adjoint(x)

    @override
    def adjoint(self, y: Tensor) -> Tensor:
        return self.operator(y)

    @property
    @override
    def H(self) -> LinearOperator:
        return self.operator

    @property
    @override
    def unitary(self) -> bool:
        return self.operator.unitary

    @property
    @override
    def partial_isometry(self) -> bool:
        return self.operator.partial_isometry

    @override
    def __repr__(self) -> str:
        return f"({self.operator!r}).H" if len(self.operator.factors) > 1 else f"{self.operator!r}.H"


@dataclass(frozen=True, eq=False, repr=False)
class Sum(LinearOperator):
    """``first(x) + second(x)``; made by ``first + second``."""

    first: LinearOperator
    second: LinearOperator

    @override
    def __call__(self, x: Tensor) -> Tensor:
        return self.first(x) + self.second(x)

    @override
    def adjoint(self, y: Tensor) -> Tensor:
        return self.first.adjoint(y) + self.second.adjoint(y)

    @override
    def __repr__(self) -> str:
        return f"({self.first!r} + {self.second!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(LinearOperator):
    """``factor * operator(x)``; made by ``factor * operator``."""

    operator: LinearOperator
    factor: int | float | complex

    @override
    def __call__(self, x: Tensor) -> Tensor:
        return self.factor * self.operator(x)

    @override
    def adjoint(self, y: Tensor) -> Tensor:
        return self.factor.conjugate() * self.operator.adjoint(y)

    @property
    @override
    def unitary(self) -> bool:
        return abs(self.factor) == 1 and self.operator.unitary

    @property
    @override
    def partial_isometry(self) -> bool:
        return abs(self.factor) == 1 and self.operator.partial_isometry

    @override
    def __repr__(self) -> str:
        return f"{self.factor:g} * {self.operator!r}"
