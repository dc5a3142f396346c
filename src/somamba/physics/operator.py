"""Linear maps that know their adjoint, compose with ``@`` and print as the algebra they are."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from typing_extensions import override


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

    def __matmul__(self, inner: "LinearOperator") -> "LinearOperator":
        return Composed(self, inner)

    def to(self, device: torch.device | str) -> "LinearOperator":
        """Return the same map with its tensors on ``device``."""
        return replace(self, **{field.name: getattr(self, field.name).to(device) for field in fields(self)})

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
