"""Kernels of the forward scan: what each chunk adds to the state, the state each chunk starts with, the read-out.

The trapezoid is folded into one pass as in `somamba.scan.chunked`: ``now`` is the weight of a token in its own
read-out, ``later`` its weight in all later ones. q and k come with bias and rotation.
"""

import triton
import triton.language as tl

from somamba.scan.gpu.tiles import (
    content,
    decays,
    dot,
    interface,
    lift,
    pair_weights,
    place,
    put_content,
    put_state,
    scalars,
    spread,
    spread_pairs,
    state,
)


@triton.jit
def added_kernel(
    k, x, mimo_x, log_decay, later, added, whole, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the state that a chunk adds, and the sum of its log-decays."""
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    a = scalars(log_decay, base, head, chunk, H, L, T)
    _, to_end, _ = decays(a, T)
    v = content(x, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_x, head, T, R, RP, P, PP)
    weight = spread(scalars(later, base, head, chunk, H, L, T) * to_end, T, RP)
    written = interface(k, base, head, chunk, H, L, T, R, RP, N, NP) * weight[:, None]
    put_state(added, dot(tl.trans(v), written, PRECISION), index, N, NP, P, PP)
    tl.store(whole + index, tl.sum(a, 0))


@triton.jit
def entering_kernel(added, whole, entering, C, SIZE, BLOCK: tl.constexpr):
    """Pass the state from chunk to chunk; every number of it is a recurrence of its own."""
    first = tl.program_id(0).to(tl.int64) * C
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    h = tl.zeros((BLOCK,), tl.float32)
    for chunk in range(C):
        at = (first + chunk) * SIZE + i
        tl.store(entering + at, h, mask=i < SIZE)
        h = h * tl.exp(tl.load(whole + first + chunk)) + tl.load(added + at, mask=i < SIZE, other=0.0)


@triton.jit
def readout_kernel(
    q, k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later, entering, out, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Read the state at every token of a chunk, add the skip, gate it and contract the rank."""
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    from_start, _, between = decays(scalars(log_decay, base, head, chunk, H, L, T), T)
    now_ = scalars(now, base, head, chunk, H, L, T)
    later_ = scalars(later, base, head, chunk, H, L, T)
    weight = spread_pairs(pair_weights(between, now_, later_, T), T, RP)
    v = content(x, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_x, head, T, R, RP, P, PP)
    reading = interface(q, base, head, chunk, H, L, T, R, RP, N, NP)
    writing = interface(k, base, head, chunk, H, L, T, R, RP, N, NP)
    h = state(entering, index, N, NP, P, PP)
    u = dot(dot(reading, tl.trans(writing), PRECISION) * weight, v, PRECISION)
    u += dot(reading * spread(from_start, T, RP)[:, None], tl.trans(h), PRECISION)
    u += tl.load(D + head) * v
    gate = content(z, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_z, head, T, R, RP, P, PP)
    y = u * gate * tl.sigmoid(gate) * lift(mimo_o, head, T, R, RP, P, PP)
    put_content(out, y, base, head, chunk, H, L, T, RP, P, PP)


@triton.jit
def states_kernel(
    k, x, mimo_x, log_decay, now, later, entering, states, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Write the state at every token of a chunk."""
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    from_start, _, between = decays(scalars(log_decay, base, head, chunk, H, L, T), T)
    now_ = scalars(now, base, head, chunk, H, L, T)
    later_ = scalars(later, base, head, chunk, H, L, T)
    pairs = pair_weights(between, now_, later_, T)
    v = tl.trans(content(x, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_x, head, T, R, RP, P, PP))
    writing = interface(k, base, head, chunk, H, L, T, R, RP, N, NP)
    h = state(entering, index, N, NP, P, PP)
    i = tl.arange(0, T)
    p, n = tl.arange(0, PP), tl.arange(0, NP)
    for j in range(T):
        weight = spread(tl.sum(tl.where(i[:, None] == j, pairs, 0.0), 0), T, RP)
        kept = tl.sum(tl.where(i == j, from_start, 0.0), 0)
        values = dot(v, writing * weight[:, None], PRECISION) + kept * h
        t = chunk * T + j
        at = ((base + t) * H + head) * P * N + p[:, None] * N + n[None, :]
        rows = tl.where(t < L, P, 0)  # none after the last token
        tl.store(states + at, values, mask=(p < rows)[:, None] & (n < N)[None, :])
