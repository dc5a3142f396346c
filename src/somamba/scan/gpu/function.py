"""The Triton scan as a PyTorch function: launches the kernels, forward and backward.

Bias, rotation and the weights of the trapezoid are ordinary PyTorch operations in front of it, so autograd does their
gradients. The entering states are computed again in the backward pass, not kept.
"""

from dataclasses import asdict
from typing import Any

import torch
import torch.nn.functional as F
import triton
from torch import Tensor

from somamba.scan.gpu import backward, forward
from somamba.scan.gpu.sizes import Tiles, tiles_for
from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.rotary import per_head, phases, rotate

ELEMENTS = 128  # numbers of the state that one program passes from chunk to chunk


@torch.compiler.disable  # type: ignore[untyped-decorator] # Its kernels are compiled already.
def scan_triton(inputs: ScanInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the scan of `scan_reference` with Triton kernels.

    Args:
        inputs: The arguments of the scan, float32, on a CUDA device; in Triton's interpreter on the CPU.
        keep_states: Also return the state at every token.
    """
    mixing = torch.sigmoid(inputs.trap)
    now = mixing * inputs.dt
    later = now + F.pad(((1 - mixing) * inputs.dt)[:, 1:], (0, 0, 0, 1))
    phase = phases(inputs.angles, inputs.dt)[:, :, :, None]
    cosine, sine = phase.cos(), phase.sin()
    own_q, own_k = per_head(inputs.C, inputs.C_bias), per_head(inputs.B, inputs.B_bias)
    q, k = rotate(own_q, cosine, sine), rotate(own_k, cosine, sine)
    tiles = tiles_for(q.shape[3], q.shape[4], inputs.x.shape[3], _architecture(inputs.x.device))
    lifts = (inputs.mimo_x, inputs.mimo_z, inputs.mimo_o)
    arguments = (q, k, own_q, own_k, inputs.x, inputs.z, *lifts, inputs.D, inputs.adt, now, later, tiles)
    out = _Core.apply(*arguments)  # type: ignore[no-untyped-call]
    states = _states(k, inputs, now, later, tiles) if keep_states else None
    return ScanOutput(out, states)


class _Core(torch.autograd.Function):
    """The scan between rotation and output: ``(batch, tokens, heads, p)``.

    q and k are the rotated interfaces, own_q and own_k those before rotation: the product of a token with itself takes
    these.
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *tensors, tiles = arguments
        tensors = [tensor.contiguous() for tensor in tensors]
        ctx.save_for_backward(*tensors)
        ctx.tiles = tiles
        q, k, _own_q, _own_k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later = tensors
        launch = _Launch(x, tiles)
        entering, _whole = _entering(launch, k, x, mimo_x, log_decay, later)
        out = torch.empty_like(x)
        launch.chunks(
            forward.readout_kernel,
            (q, k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later, entering, out),
        )
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        q, k, own_q, own_k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later = ctx.saved_tensors
        launch = _Launch(x, ctx.tiles)
        dout = dout.contiguous()
        entering, whole = _entering(launch, k, x, mimo_x, log_decay, later)
        dentering, dleaving = torch.empty_like(entering), torch.empty_like(entering)
        launch.chunks(backward.entering_gradient_kernel, (q, z, mimo_z, mimo_o, log_decay, dout, dentering))
        launch.elements(backward.leaving_gradient_kernel, (dentering, whole, dleaving))
        of_interface = tuple(map(torch.empty_like, (q, k, own_q, own_k)))
        of_scalars = tuple(map(torch.empty_like, (log_decay, now, later)))
        of_chunks = (log_decay, now, later, whole, entering, dleaving, dout)
        launch.chunks(
            backward.interface_gradient_kernel,
            (q, k, own_q, own_k, x, z, mimo_x, mimo_z, mimo_o, *of_chunks, *of_interface, *of_scalars),
        )
        dx, dz = torch.empty_like(x), torch.empty_like(z)
        partials = [x.new_empty(launch.programs, launch.count, *lift.shape[1:]) for lift in (mimo_x, mimo_z, mimo_o, D)]
        launch.chunks(
            backward.content_gradient_kernel,
            (q, k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later, entering, dleaving, dout, dx, dz, *partials),
        )
        sums = (partial.unflatten(0, (-1, launch.heads)).sum((0, 2)) for partial in partials)
        return *of_interface, dx, dz, *sums, *of_scalars, None


class _Launch:
    """Starts kernels for one scan: the grid, the sizes, and the device of the tensors."""

    def __init__(self, x: Tensor, tiles: Tiles) -> None:
        batch, self.tokens, self.heads, _ = x.shape
        self.programs, self.count = batch * self.heads, -(-self.tokens // tiles.T)
        self._tiles, self._device = tiles, x.device
        self.state_shape = (self.programs, self.count, tiles.P, tiles.N)

    def chunks(self, kernel: Any, arguments: tuple[Tensor, ...]) -> None:
        """Run a kernel once for each chunk of each head."""
        with torch.cuda.device_of(arguments[0]):
            kernel[(self.programs, self.count)](
                *arguments, self.heads, self.tokens, self.count, **asdict(self._tiles), num_warps=4, num_stages=1
            )

    def elements(self, kernel: Any, arguments: tuple[Tensor, ...]) -> None:
        """Run a kernel that walks over the chunks, once for each part of the state of each head."""
        size = self._tiles.P * self._tiles.N
        with torch.cuda.device_of(arguments[0]):
            kernel[(self.programs, triton.cdiv(size, ELEMENTS))](
                *arguments, self.count, size, BLOCK=ELEMENTS, num_warps=4
            )


def _entering(
    launch: _Launch, k: Tensor, x: Tensor, mimo_x: Tensor, log_decay: Tensor, later: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the state each chunk starts with, and the sum of log-decays of each chunk."""
    added, entering = x.new_empty(launch.state_shape), x.new_empty(launch.state_shape)
    whole = x.new_empty(launch.programs, launch.count)
    launch.chunks(forward.added_kernel, (k, x, mimo_x, log_decay, later, added, whole))
    launch.elements(forward.entering_kernel, (added, whole, entering))
    return entering, whole


@torch.no_grad()
def _states(k: Tensor, inputs: ScanInputs, now: Tensor, later: Tensor, tiles: Tiles) -> Tensor:
    k, x, mimo_x, log_decay, now, later = (
        tensor.contiguous() for tensor in (k, inputs.x, inputs.mimo_x, inputs.adt, now, later)
    )
    launch = _Launch(x, tiles)
    entering, _whole = _entering(launch, k, x, mimo_x, log_decay, later)
    states = x.new_empty(*x.shape, k.shape[-1])
    launch.chunks(forward.states_kernel, (k, x, mimo_x, log_decay, now, later, entering, states))
    return states


def _architecture(device: torch.device) -> int | None:
    if device.type != "cuda":
        return None
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor
