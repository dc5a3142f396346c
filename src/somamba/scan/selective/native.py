"""The selective scan in C++ on the CPU: float32, forward and backward, registered with PyTorch as an ordinary operator.

Arguments may be slices of larger tensors: only their last axis must
be contiguous, so the projection that makes them is read in place.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor

from somamba.native.library import constants, library, workers
from somamba.native.structures import Selective, SelectiveGradient, SelectiveSizes, Strided, pointer
from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.inputs import SelectiveInputs


def selective_native(inputs: SelectiveInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the scan of `selective_reference` in the compiled kernel."""
    tensors = inputs.tensors()
    differentiable = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    readout, states, _ = _forward(*tensors, keep_states, differentiable)
    return ScanOutput(readout, states if keep_states else None)


@torch.library.custom_op("somamba::selective_scan", mutates_args=(), device_types="cpu")
def _forward(
    u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, keep_states: bool, keep_blocks: bool
) -> tuple[Tensor, Tensor, Tensor]:
    call, sizes, count, _held = _describe((u, dt, A, B, C, D))
    readout = torch.empty(u.shape)
    states = torch.empty(*u.shape, A.shape[1]) if keep_states else torch.empty(0)
    boundary = torch.empty(sizes.boundary if keep_blocks else 0)
    scratch = torch.empty(sizes.forward)
    call.out, call.scratch = pointer(readout), pointer(scratch)
    call.states = pointer(states) if keep_states else None
    call.boundary = pointer(boundary) if keep_blocks else None
    library().somamba_selective_forward(ctypes.byref(call), count)
    return readout, states, boundary


@_forward.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    u, _dt, A, *_rest, keep_states, keep_blocks = arguments
    states = u.new_empty(*u.shape, A.shape[1]) if keep_states else u.new_empty(0)
    blocks = torch.library.get_ctx().new_dynamic_size() if keep_blocks else 0
    return u.new_empty(u.shape), states, u.new_empty(blocks)


@torch.library.custom_op("somamba::selective_scan_backward", mutates_args=(), device_types="cpu")
def _backward(
    grad: Tensor, boundary: Tensor, u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor
) -> list[Tensor]:
    call, sizes, count, _held = _describe((u, dt, A, B, C, D))
    grad = grad.contiguous()
    du, ddt, dB, dC = (torch.empty(tensor.shape) for tensor in (u, dt, B, C))
    dA, dD = torch.empty(u.shape[0], *A.shape), torch.empty(u.shape[0], *D.shape)
    scratch, partial = torch.empty(sizes.backward), torch.empty(sizes.partial)
    call.boundary, call.scratch = pointer(boundary), pointer(scratch)
    gradient = SelectiveGradient(*map(pointer, (grad, du, ddt, dA, dD, dB, dC, partial)))
    library().somamba_selective_backward(ctypes.byref(call), ctypes.byref(gradient), count)
    return [du, ddt, dA.sum(dim=0), dB, dC, dD.sum(dim=0)]


@_backward.register_fake
def _(*arguments: Tensor) -> list[Tensor]:
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in arguments[2:]]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, states, boundary = output
    ctx.mark_non_differentiable(states, boundary)
    ctx.set_materialize_grads(False)  # or zeros as large as the saved states would be made for them
    ctx.save_for_backward(boundary, *inputs[:6])


def _differentiate(ctx: Any, grad: Tensor | None, *_unused: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 8
    return (*_backward(grad, *ctx.saved_tensors), None, None)


_forward.register_autograd(_differentiate, setup_context=_remember)


def _describe(tensors: tuple[Tensor, ...]) -> tuple[Selective, SelectiveSizes, int, tuple[Tensor, ...]]:
    """The call, its sizes, the number of threads, and the tensors it points into, which must outlive it."""
    u, dt, B, C = (tensors[i] if tensors[i].stride(-1) == 1 else tensors[i].contiguous() for i in (0, 1, 3, 4))
    A, D = tensors[2].contiguous(), tensors[5].contiguous()
    groups, n = B.shape[2:]
    split = [Strided.of(tensor.unflatten(2, (groups, -1))) for tensor in (u, dt)]
    channels = u.shape[2] // groups
    call = Selective(*u.shape[:2], groups, channels, n, *split, Strided.of(B), Strided.of(C), pointer(A), pointer(D))
    count = max(1, min(workers(), u.shape[0] * groups * -(-channels // constants().lanes)))
    sizes = SelectiveSizes()
    library().somamba_selective_sizes(ctypes.byref(call), count, ctypes.byref(sizes))
    return call, sizes, count, (u, dt, A, B, C, D)
