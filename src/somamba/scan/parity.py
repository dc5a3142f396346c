"""Parity at first use: before a backend is trusted on a device, a small scan is compared with the definition.

Kernels can be silently wrong on hardware their authors never had. The comparison takes output and every gradient
against `reference` in float64 on the CPU, once in a process for each backend, device and size.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from somamba.scan.inputs import ScanOutput

TOLERANCE = 1e-3
"""Largest relative difference that rounding in float32 may make; errors of a wrong kernel are of the order of one."""


@runtime_checkable
class Arguments(Protocol):
    """The arguments of a scan: a dataclass of tensors."""

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all arguments, in the order of the fields."""
        ...


@dataclass(frozen=True)
class Parity:
    """How far a backend is from the definition, relative to the largest number."""

    readout: float
    """Difference of the read-out."""
    gradient: float
    """Largest difference among the gradients of all arguments."""
    failure: str | None = None
    """What the backend raised, if it did not run at all."""

    @property
    def complaint(self) -> str | None:
        """Return why the backend cannot be trusted, or None."""
        if self.failure is not None:
            return f"its test scan failed: {self.failure}"
        if not (self.readout <= TOLERANCE and self.gradient <= TOLERANCE):
            return (
                f"its test scan is off by {self.readout:.1e} in the output and {self.gradient:.1e} in a gradient "
                f"(at most {TOLERANCE:g} is rounding)"
            )
        return None


def measure_parity(
    run: Callable[..., ScanOutput], reference: Callable[..., ScanOutput], example: Arguments, device: torch.device
) -> Parity:
    """Compare a backend with the definition.

    Args:
        run: The backend.
        reference: The definition.
        example: Arguments in float64 on the CPU, whose values float32 holds exactly.
        device: Where the backend computes, in float32.
    """
    with torch.inference_mode(mode=False), torch.enable_grad():
        exact = _differentiate(reference, example, torch.device("cpu"), torch.float64)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # A compiler that warns while it compiles has not failed.
                result = _differentiate(run, example, device, torch.float32)
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises on unknown hardware is its answer.
            return Parity(float("nan"), float("nan"), f"{type(error).__name__}: {error}")
    errors = [_relative_error(mine.cpu(), theirs) for mine, theirs in zip(result, exact, strict=True)]
    return Parity(errors[0], max(errors[1:]))


def _differentiate(
    run: Callable[..., ScanOutput], example: Arguments, device: torch.device, dtype: torch.dtype
) -> list[Tensor]:
    leaves = [tensor.clone().to(device, dtype).detach().requires_grad_() for tensor in example.tensors()]
    record: Any = type(example)
    readout = run(record(*leaves), keep_states=False).readout
    # A fixed cotangent without symmetries, so that no gradient vanishes.
    cotangent = torch.linspace(-1, 2, readout.numel(), dtype=torch.float64).reshape(readout.shape)
    gradients = torch.autograd.grad(readout, leaves, cotangent.to(device, dtype))
    return [readout.detach(), *gradients]


def _relative_error(value: Tensor, exact: Tensor) -> float:
    if exact.numel() == 0:  # a scan without rotation has no angles
        return 0.0
    scale = exact.abs().max()
    return float((value.double() - exact).abs().max() / scale) if scale else float(value.abs().max())
