"""The scan in C++ on the CPU: float32, forward and backward, registered with PyTorch as an ordinary operator.

Arguments may be slices of larger tensors: only their last axis must be contiguous, so the projection that makes them
is read in place.
"""

import ctypes
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from somamba.native.library import constants, library, workers
from somamba.native.structures import ScanCall, ScanGradient, ScanSizes, Strided, pointer
from somamba.scan.inputs import ScanInputs, ScanOutput

ARGUMENTS = tuple(field.name for field in fields(ScanInputs))
SEQUENCES = ("C", "B", "x", "z", "angles")
PER_TOKEN = ("dt", "adt", "trap")
"""Their last axis is that of the heads, which has a stride of its own in the kernel."""
PARAMETERS = tuple(name for name in ARGUMENTS if name not in (*SEQUENCES, *PER_TOKEN))


def scan_native(inputs: ScanInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the scan of `scan_reference` in the compiled kernel."""
    readout, states, _, _ = _forward(*inputs.tensors(), keep_states, _needs_gradient(inputs))
    return ScanOutput(readout, states if keep_states else None)


def _needs_gradient(inputs: ScanInputs) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs.tensors())


@torch.library.custom_op("somamba::mimo_scan", mutates_args=(), device_types="cpu")
def _forward(
    C: Tensor, B: Tensor, x: Tensor, z: Tensor, C_bias: Tensor, B_bias: Tensor, mimo_x: Tensor, mimo_z: Tensor,
    mimo_o: Tensor, D: Tensor, angles: Tensor, dt: Tensor, adt: Tensor, trap: Tensor, keep_states: bool,
    keep_blocks: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    tensors = _readable((C, B, x, z, C_bias, B_bias, mimo_x, mimo_z, mimo_o, D, angles, dt, adt, trap))
    call, sizes, count = _describe(tensors)
    readout = torch.empty(x.shape)
    states = torch.empty(*x.shape, B.shape[-1]) if keep_states else torch.empty(0)
    boundary = torch.empty(sizes.boundary if keep_blocks else 0)
    turns = torch.empty(sizes.turns if keep_blocks else 0, dtype=torch.float64)
    scratch = torch.empty(sizes.forward + constants().lanes)
    call.out = Strided.of(readout)
    call.states = pointer(states) if keep_states else None
    call.boundary = pointer(boundary) if keep_blocks else None
    call.turns = pointer(turns) if keep_blocks else None
    call.scratch = pointer(scratch)
    library().somamba_scan_forward(ctypes.byref(call), count)
    return readout, states, boundary, turns


@_forward.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _C, B, x, *_rest, keep_states, keep_blocks = arguments
    states = x.new_empty(*x.shape, B.shape[-1]) if keep_states else x.new_empty(0)
    context = torch.library.get_ctx()
    size = context.new_dynamic_size if keep_blocks else lambda: 0
    return x.new_empty(x.shape), states, x.new_empty(size()), x.new_empty(size(), dtype=torch.float64)


@torch.library.custom_op("somamba::mimo_scan_backward", mutates_args=(), device_types="cpu")
def _backward(
    grad: Tensor, boundary: Tensor, turns: Tensor, C: Tensor, B: Tensor, x: Tensor, z: Tensor, C_bias: Tensor,
    B_bias: Tensor, mimo_x: Tensor, mimo_z: Tensor, mimo_o: Tensor, D: Tensor, angles: Tensor, dt: Tensor, adt: Tensor,
    trap: Tensor,
) -> list[Tensor]:  # fmt: skip
    tensors = _readable((C, B, x, z, C_bias, B_bias, mimo_x, mimo_z, mimo_o, D, angles, dt, adt, trap))
    call, sizes, count = _describe(tensors)
    gradients = [torch.empty(tensor.shape) for tensor in tensors]
    grad = grad.contiguous()
    scratch, partial = torch.empty(sizes.backward + constants().lanes), torch.empty(sizes.partial)
    call.boundary, call.scratch = pointer(boundary), pointer(scratch)
    call.turns = pointer(turns)
    adjoint = ScanGradient(dout=Strided.of(grad), partial=pointer(partial))
    for name, gradient in zip(ARGUMENTS, gradients, strict=True):
        field = "angle" if name == "angles" else name
        setattr(adjoint, field, (Strided.of if name in ("x", "z") else pointer)(gradient))
    library().somamba_scan_backward(ctypes.byref(call), ctypes.byref(adjoint), count)
    return gradients


@_backward.register_fake
def _(*arguments: Tensor) -> list[Tensor]:
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in arguments[3:]]


def _remember(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[object, ...], output: tuple[Tensor, ...]) -> None:
    _, states, boundary, turns = output
    ctx.mark_non_differentiable(states, boundary, turns)
    ctx.set_materialize_grads(False)  # or zeros as large as the saved states would be made for them
    ctx.save_for_backward(boundary, turns, *inputs[: len(ARGUMENTS)])  # type: ignore[arg-type]


def _differentiate(
    ctx: torch.autograd.function.FunctionCtx, grad: Tensor | None, *_unused: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * (len(ARGUMENTS) + 2)
    gradients = _backward(grad, *ctx.saved_tensors)  # type: ignore[attr-defined]
    return (*gradients, None, None)


_forward.register_autograd(_differentiate, setup_context=_remember)


def _readable(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Contiguous along the last axis for what has strides, wholly contiguous for the parameters."""

    def readable(name: str, tensor: Tensor) -> bool:
        return name in PER_TOKEN or (name in SEQUENCES and tensor.stride(-1) == 1)

    return tuple(t if readable(name, t) else t.contiguous() for name, t in zip(ARGUMENTS, tensors, strict=True))


def _describe(tensors: tuple[Tensor, ...]) -> tuple[ScanCall, ScanSizes, int]:
    C, B, x, z, *parameters, angles, dt, adt, trap = tensors
    batch, tokens, heads, p = x.shape
    rank, groups, n = B.shape[2:]
    call = ScanCall(batch, tokens, heads, p, n, rank, groups, angles.shape[-1], advance=tokens)
    for name, tensor in (("C", C), ("B", B)):
        setattr(call, name, Strided(pointer(tensor), tensor.stride(0), tensor.stride(1), tensor.stride(3)))
        setattr(call, f"{name}_rank", tensor.stride(2))
    for name, tensor in (("x", x), ("z", z), ("angle", angles), ("dt", dt), ("adt", adt), ("trap", trap)):
        setattr(call, name, Strided.of(tensor))
    for name, tensor in zip(PARAMETERS, parameters, strict=True):
        setattr(call, name, pointer(tensor))
    count = max(1, min(workers(), batch * heads * -(-p // constants().lanes)))
    sizes = ScanSizes()
    library().somamba_scan_sizes(ctypes.byref(call), count, ctypes.byref(sizes))
    return call, sizes, count
