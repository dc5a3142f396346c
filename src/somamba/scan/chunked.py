"""The recurrence as matrix products over short chunks: plain PyTorch, any device, any float type, differentiable.

The trapezoid is folded into one pass. With ``s[t] = (1 - lambda[t+1]) dt[t+1]``, the weight that the *next* token will
give to this one, the carried state is ``g[t] = alpha[t] g[t-1] + (gamma[t] + s[t]) k[t] v[t]`` and the true state is
``h[t] = g[t] - s[t] k[t] v[t]``.

Tokens are streamed in blocks, so that the temporaries of one block stay in cache and are reused by the next; a block
is cut into chunks, and chunks exchange states through one more matrix of decays.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from jaxtyping import Float, Float64
from torch import Tensor

from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.rotary import per_head, phases, rotate

CHUNK = 8  # Measured on CPUs: 8 beats 16 and 64, because the chunk's matrix grows with (chunk * rank)^2.
BLOCK = 1024


class _Block(NamedTuple):
    """One block of tokens, cut into chunks: ``c`` chunks of ``t`` tokens."""

    q: Float[Tensor, "b h c t*r n"]
    k: Float[Tensor, "b h c t*r n"]
    v: Float[Tensor, "b h c t*r p"]
    log_decay: Float64[Tensor, "b h c t"]
    now: Float[Tensor, "b h c t"]
    """gamma: the weight of a token in its own read-out."""
    later: Float[Tensor, "b h c t"]
    """gamma + s: the weight of a token in all later read-outs."""


def scan_chunked(
    inputs: ScanInputs,
    *,
    keep_states: bool = False,
    chunk: int = CHUNK,
    block: int = BLOCK,
    compiled: bool = False,
) -> ScanOutput:
    """Run the scan of `scan_reference` chunk by chunk.

    Args:
        inputs: The arguments of the scan.
        keep_states: Also return the state at every token.
        chunk: Tokens of a chunk, which meet in one matrix product.
        block: Tokens of a block, whose temporaries stay in cache.
        compiled: Run each block through ``torch.compile``; the first block of a new shape then takes seconds.
    """
    run_block = _compiled_block() if compiled else _run_block
    tokens = inputs.x.shape[1]
    mixing = torch.sigmoid(inputs.trap)
    now = mixing * inputs.dt
    later = now + F.pad(((1 - mixing) * inputs.dt)[:, 1:], (0, 0, 0, 1))
    phase = phases(inputs.angles, inputs.dt)[:, :, :, None]
    cosine, sine = phase.cos(), phase.sin()

    carry: Float[Tensor, "b h p n"] | None = None
    readouts, states = [], []
    for start in range(0, tokens, block):
        piece = slice(start, min(start + block, tokens))
        length = piece.stop - piece.start
        v = inputs.x[:, piece, :, None] * inputs.mimo_x
        chunks = _Block(
            _chunks(rotate(per_head(inputs.C[:, piece], inputs.C_bias), cosine[:, piece], sine[:, piece]), chunk),
            _chunks(rotate(per_head(inputs.B[:, piece], inputs.B_bias), cosine[:, piece], sine[:, piece]), chunk),
            _chunks(v, chunk),
            *(_chunks(scalar[:, piece, :, None, None], chunk)[..., 0] for scalar in (inputs.adt.double(), now, later)),
        )
        y, carry, h = run_block(chunks, carry, keep_states)
        y = rearrange(y, "b h c (t r) p -> b (c t) h r p", t=chunk)[:, :length] + inputs.D[:, None, None] * v
        gate = F.silu(inputs.z[:, piece, :, None] * inputs.mimo_z)
        readouts.append((y * gate * inputs.mimo_o).sum(dim=-2))
        if h is not None:
            states.append(rearrange(h, "b h c t p n -> b (c t) h p n")[:, :length])
    return ScanOutput(torch.cat(readouts, dim=1), torch.cat(states, dim=1) if keep_states else None)


def _chunks(per_token: Float[Tensor, "b tokens h r w"], chunk: int) -> Float[Tensor, "b h c tr w"]:
    """Cut the values of all tokens into chunks; zeros fill the last one and neither write nor decay."""
    short = -per_token.shape[1] % chunk
    padded = F.pad(per_token, (0, 0, 0, 0, 0, 0, 0, short)) if short else per_token
    return rearrange(padded, "b (c t) h r w -> b h c (t r) w", t=chunk)


def _run_block(block: _Block, carry: Tensor | None, keep_states: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    q, k, v, log_decay, now, later = block
    chunk, rank = log_decay.shape[-1], q.shape[-2] // log_decay.shape[-1]
    # Decay sums in float64: under strong decay their differences cancel. Masked before exp, never after.
    since_start = log_decay.cumsum(dim=-1)
    decay = _decays(since_start, since_start).to(q.dtype)
    weight = decay * later[..., None, :]
    weight = torch.diagonal_scatter(weight, now, dim1=-2, dim2=-1)
    weight = weight.repeat_interleave(rank, dim=-1).repeat_interleave(rank, dim=-2)
    y = ((q @ k.mT) * weight) @ v

    # State that each chunk adds, then the state that each chunk starts with.
    to_end = (decay[..., -1, :] * later).repeat_interleave(rank, dim=-1)
    added = v.mT @ (k * to_end[..., None])
    whole = since_start[..., -1]
    end = whole.cumsum(dim=-1)
    between = _decays(end - whole, end, strict=True).to(q.dtype)
    entering = einsum(between, added, "b h c d, b h d p n -> b h c p n")
    left = torch.exp(end[..., -1:] - end).to(q.dtype)
    leaving = einsum(left, added, "b h d, b h d p n -> b h p n")
    if carry is not None:
        entering = entering + torch.exp(end - whole).to(q.dtype)[..., None, None] * carry[:, :, None]
        leaving = leaving + torch.exp(end[..., -1]).to(q.dtype)[..., None, None] * carry

    from_start = torch.exp(since_start).to(q.dtype)
    y = y + (q * from_start.repeat_interleave(rank, dim=-1)[..., None]) @ entering.mT
    if not keep_states:
        return y, leaving, None
    own = weight[..., ::rank, ::rank]
    written = einsum(
        rearrange(k, "b h c (t r) n -> b h c t r n", t=chunk),
        rearrange(v, "b h c (t r) p -> b h c t r p", t=chunk),
        "b h c t r n, b h c t r p -> b h c t p n",
    )
    states = einsum(own, written, "b h c t s, b h c s p n -> b h c t p n")
    return y, leaving, states + from_start[..., None, None] * entering[:, :, :, None]


@cache
def _compiled_block() -> Callable[[_Block, Tensor | None, bool], tuple[Tensor, Tensor, Tensor | None]]:
    return torch.compile(_run_block)


# The backend `compiled` traces this function, and shapes in its signature cannot be checked there.
def _decays(upto: Tensor, since: Tensor, *, strict: bool = False) -> Tensor:
    """``exp(upto[i] - since[j])`` for ``j <= i`` (``j < i`` if strict), zero elsewhere."""
    size = upto.shape[-1]
    allowed = torch.ones(size, size, dtype=torch.bool, device=upto.device).tril(-1 if strict else 0)
    difference = upto[..., :, None] - since[..., None, :]
    return torch.exp(difference.masked_fill(~allowed, -torch.inf))
