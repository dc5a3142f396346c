"""The selective Triton scan as a PyTorch function: launches the kernels, forward and backward.

The entering states are computed again in the backward pass, not kept.
"""

from dataclasses import asdict
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.gpu import backward, forward
from somamba.scan.selective.gpu.sizes import BACKWARD, FORWARD, tiles_for
from somamba.scan.selective.inputs import SelectiveInputs

ELEMENTS = 128  # numbers of the state that one program passes from chunk to chunk


@torch.compiler.disable  # type: ignore[untyped-decorator] # Its kernels are compiled already.
def selective_triton(inputs: SelectiveInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the scan of `selective_reference` with Triton kernels.

    Args:
        inputs: The arguments of the scan, float32, on a CUDA device; in Triton's interpreter on the CPU.
        keep_states: Also return the state at every token; no gradient flows back through it.
    """
    readout, states = _Scan.apply(*inputs.tensors(), keep_states)  # type: ignore[no-untyped-call]
    return ScanOutput(readout, states)


class _Scan(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor | None]:
        *tensors, keep_states = arguments
        u, dt, A, B, C, D = tensors = [tensor.contiguous() for tensor in tensors]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        launch = _SelectiveLaunch(u, B, FORWARD)
        entering, _spent = launch.entering(u, dt, A, B)
        out = torch.empty_like(u)
        states = u.new_empty(*u.shape, A.shape[1]) if keep_states else None
        target = out if states is None else states  # An address must be given even if nothing is kept.
        launch.chunks(forward.readout_kernel, (u, dt, A, B, C, D, entering, out, target), KEEP=keep_states)
        if states is not None:
            ctx.mark_non_differentiable(states)
        return out, states

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 7
        u, dt, A, B, C, D = ctx.saved_tensors
        dout = gradients[0].contiguous()
        launch = _SelectiveLaunch(u, B, BACKWARD)
        entering, spent = launch.entering(u, dt, A, B)
        dentering, dleaving = torch.empty_like(entering), torch.empty_like(entering)
        launch.chunks(backward.entering_gradient_kernel, (dt, A, C, dout, dentering))
        launch.elements(backward.leaving_gradient_kernel, (dentering, spent, A, dleaving))
        du, ddt, dA = torch.empty_like(u), torch.empty_like(dt), torch.empty_like(entering)
        dB, dC = (u.new_empty(launch.programs, *B.shape) for _ in range(2))
        launch.chunks(backward.gradient_kernel, (u, dt, A, B, C, D, entering, dleaving, dout, du, ddt, dA, dB, dC))
        return du, ddt, dA.sum((0, 1)), dB.sum(0), dC.sum(0), (dout * u).sum((0, 1)), None


class _SelectiveLaunch:
    """Starts kernels for one scan with chunks of one length: the grid, the sizes, and the device of the tensors."""

    def __init__(self, u: Tensor, B: Tensor, tokens: int) -> None:
        self._batch, self._tokens, self._width = u.shape
        self._groups, n = B.shape[2:]
        self._channels = self._width // self._groups
        self._tiles, self._T = tiles_for(n, self._channels), tokens
        self._count = triton.cdiv(self._tokens, tokens)
        self.programs = triton.cdiv(self._channels, self._tiles.K)

    def entering(self, u: Tensor, dt: Tensor, A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state each chunk starts with, and the sum of each chunk's steps."""
        added, entering = (u.new_empty(self._batch, self._count, *A.shape) for _ in range(2))
        spent = u.new_empty(self._batch, self._count, self._width)
        self.chunks(forward.added_kernel, (u, dt, A, B, added, spent))
        self.elements(forward.entering_kernel, (added, spent, A, entering))
        return entering, spent

    def chunks(self, kernel: Any, arguments: tuple[Tensor, ...], **constants: Any) -> None:
        """Run a kernel once for each chunk of each part of each group."""
        sizes = (self._tokens, self._groups, self._channels, self._count)
        with torch.cuda.device_of(arguments[0]):
            kernel[(self._batch * self._groups * self.programs, self._count)](
                *arguments, *sizes, T=self._T, **asdict(self._tiles), **constants, num_warps=4
            )

    def elements(self, kernel: Any, arguments: tuple[Tensor, ...]) -> None:
        """Run a kernel that walks over the chunks, once for each part of the state."""
        parts = triton.cdiv(self._width * self._tiles.N, ELEMENTS)
        with torch.cuda.device_of(arguments[0]):
            kernel[(self._batch, parts)](
                *arguments, self._count, self._width, N=self._tiles.N, BLOCK=ELEMENTS, num_warps=4
            )
