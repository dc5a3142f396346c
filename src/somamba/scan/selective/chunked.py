"""The selective recurrence chunk by chunk: plain PyTorch, any device, any float type, differentiable.

Inside a chunk, neighbouring steps ``h -> a h + x`` are composed to steps over 2, 4, 8, ... tokens:
``(a2, x2) after (a1, x1) = (a2 a1, a2 x1 + x2)``. After log2(chunk) doublings every token holds its step from the
chunk's start. Nothing is ever divided by a product of decays, so they may underflow. In float32 a decay is as exact as
a number near one can be: if tokens decay by 3e-8 each, 25,600 of them are off by 5e-4.

Only the states between chunks are kept for the backward pass; a chunk is computed again when its turn comes. With the
adjoint ``l[t] = C[t] dy[t] + a[t+1] l[t+1]``, the same recurrence in reverse, all gradients are sums of products.

Axes inside a chunk: ``b t g c n``, channels ``c`` of one group ``g``.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.inputs import SelectiveInputs

CHUNK = 64
States = Float[Tensor, "b t g c n"]


def selective_chunked(inputs: SelectiveInputs, *, keep_states: bool = False, chunk: int = CHUNK) -> ScanOutput:
    """Run the scan of `selective_reference` chunk by chunk.

    Args:
        inputs: The arguments of the scan.
        keep_states: Return the state after every token too.
        chunk: The number of tokens of a chunk.
    """
    readout, states = _Chunked.apply(*inputs.tensors(), keep_states, chunk)  # type: ignore[no-untyped-call]
    return ScanOutput(readout, states)


class _Chunk(NamedTuple):
    """The arguments of one chunk, channels split by group, made ready to be multiplied with states."""

    u: Float[Tensor, "b t g c"]
    dt: Float[Tensor, "b t g c"]
    A: Float[Tensor, "g c n"]
    B: Float[Tensor, "b t g n"]
    C: Float[Tensor, "b t g n"]

    def states(self, entering: Float[Tensor, "b g c n"]) -> tuple[States, States]:
        """The decay of every token, and the state after it."""
        decay = torch.exp(self.dt[..., None] * self.A)
        return decay, _compose(decay, (self.dt * self.u)[..., None] * self.B[:, :, :, None], entering)


def _cut(tensors: tuple[Tensor, ...], start: int, chunk: int) -> _Chunk:
    u, dt, A, B, C = tensors
    groups = B.shape[2]
    piece = slice(start, start + chunk)
    content, steps = (tensor[:, piece].unflatten(2, (groups, -1)) for tensor in (u, dt))
    return _Chunk(content, steps, A.unflatten(0, (groups, -1)), B[:, piece], C[:, piece])


def _compose(decay: States, added: States, entering: Float[Tensor, "b g c n"]) -> States:
    """``h[t] = decay[t] h[t-1] + added[t]`` along axis 1, from the state that enters; overwrites ``added``."""
    product, step, length = decay, 1, added.shape[1]
    while step < length:
        added[:, step:] += product[:, step:] * added[:, :-step]
        product = torch.cat([product[:, :step], product[:, step:] * product[:, :-step]], dim=1)
        step *= 2
    return added.addcmul_(product, entering[:, None])


class _Chunked(torch.autograd.Function):
    @override
    @staticmethod
    def forward(
        ctx: Any, u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, keep_states: bool, chunk: int
    ) -> tuple[Tensor, Tensor | None]:
        groups = B.shape[2]
        state = u.new_zeros(u.shape[0], groups, u.shape[2] // groups, B.shape[3])
        entering, readouts, trajectory = [], [], []
        for start in range(0, u.shape[1], chunk):
            piece = _cut((u, dt, A, B, C), start, chunk)
            entering.append(state)
            _, h = piece.states(state)
            state = h[:, -1].clone()  # a copy: a view would hold on to the whole chunk
            readouts.append((h @ piece.C[..., None])[..., 0].flatten(2))
            if keep_states:
                trajectory.append(h.flatten(2, 3))
        ctx.save_for_backward(u, dt, A, B, C, D, *entering)
        ctx.chunk = chunk
        ctx.set_materialize_grads(False)
        return torch.cat(readouts, dim=1).addcmul_(D, u), torch.cat(trajectory, dim=1) if keep_states else None

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None, states_grad: Tensor | None) -> tuple[Tensor | None, ...]:
        u, dt, A, B, C, D, *entering = ctx.saved_tensors
        dy = u.new_zeros(u.shape) if grad is None else grad
        after = torch.zeros_like(entering[0])  # what the token after the chunk sends back to its last state
        pieces: list[tuple[Tensor, ...]] = []
        dA = torch.zeros_like(A)
        for number in reversed(range(len(entering))):
            part = slice(number * ctx.chunk, (number + 1) * ctx.chunk)
            piece = _cut((u, dt, A, B, C), part.start, ctx.chunk)
            of_states = None if states_grad is None else states_grad[:, part]
            after, dA_piece, *gradients = _reverse(piece, entering[number], dy[:, part], of_states, after)
            dA += dA_piece.flatten(0, 1)
            pieces.append(tuple(gradients))
        du, ddt, dB, dC = (torch.cat(parts[::-1], dim=1) for parts in zip(*pieces, strict=True))
        return du.addcmul_(D, dy), ddt, dA, dB, dC, (dy * u).sum(dim=(0, 1)), None, None


def _reverse(
    piece: _Chunk, entering: Tensor, dy: Tensor, states_grad: Tensor | None, after: Tensor
) -> tuple[Tensor, ...]:
    """What the chunk sends back to the state that entered it, then its gradients of A, u, dt, B and C."""
    decay, h = piece.states(entering)
    groups = piece.B.shape[2]
    dy = dy.unflatten(2, (groups, -1))
    received = dy[..., None] * piece.C[:, :, :, None]
    if states_grad is not None:
        received += states_grad.unflatten(2, (groups, -1))
    # Reversed in time, a token receives with the decay of the token after it; the last one of the chunk gets `after`.
    shifted = torch.cat([torch.ones_like(decay[:, :1]), decay[:, 1:].flip(1)], dim=1)
    adjoint = _compose(shifted, received.flip(1), after).flip(1)

    dC = (h.mT @ dy[..., None])[..., 0]
    dB = (adjoint.mT @ (piece.dt * piece.u)[..., None])[..., 0]
    read = (adjoint @ piece.B[..., None])[..., 0]
    back = adjoint.mul_(decay)
    after = back[:, 0].clone()
    through = back.mul_(torch.cat([entering[:, None], h[:, :-1]], dim=1))  # times the state before each token
    ddt = piece.u * read + torch.einsum("btgcn,gcn->btgc", through, piece.A)
    dA = torch.einsum("btgcn,btgc->gcn", through, piece.dt)
    return after, dA, (piece.dt * read).flatten(2), ddt.flatten(2), dB, dC
