"""Kernels of the backward scan. Each recomputes what it needs from the arguments and the entering states.

Sums over chunks and batch entries are written as partial sums and added up outside, so that results repeat bit by bit.
"""

import triton
import triton.language as tl

from somamba.scan.gpu.tiles import (
    content,
    decays,
    dot,
    gather,
    gather_pairs,
    interface,
    lift,
    pair_weights,
    place,
    put_content,
    put_interface,
    put_partial,
    put_scalars,
    put_state,
    scalars,
    spread,
    spread_pairs,
    state,
)


@triton.jit
def readout_gradient(
    z, mimo_z, mimo_o, dout, base, head, chunk, H, L,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr,
):  # fmt: skip
    """Return the gradient of the read-out before the gate: ``(T * RP, PP)``."""
    a = content(z, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_z, head, T, R, RP, P, PP)
    given = content(dout, base, head, chunk, H, L, T, RP, P, PP)
    return given * a * tl.sigmoid(a) * lift(mimo_o, head, T, R, RP, P, PP)


@triton.jit
def entering_gradient_kernel(
    q, z, mimo_z, mimo_o, log_decay, dout, dentering, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradient that a chunk's own read-out gives to the state it starts with."""
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    from_start, _, _ = decays(scalars(log_decay, base, head, chunk, H, L, T), T)
    du = readout_gradient(z, mimo_z, mimo_o, dout, base, head, chunk, H, L, T, R, RP, P, PP)
    reading = interface(q, base, head, chunk, H, L, T, R, RP, N, NP) * spread(from_start, T, RP)[:, None]
    put_state(dentering, dot(tl.trans(du), reading, PRECISION), index, N, NP, P, PP)


@triton.jit
def leaving_gradient_kernel(dentering, whole, dleaving, C, SIZE, BLOCK: tl.constexpr):
    """Pass the gradient of the state from chunk to chunk, backwards: that of the state which each chunk ends with."""
    first = tl.program_id(0).to(tl.int64) * C
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    g = tl.zeros((BLOCK,), tl.float32)
    for step in range(C):
        chunk = C - 1 - step
        at = (first + chunk) * SIZE + i
        tl.store(dleaving + at, g, mask=i < SIZE)
        g = g * tl.exp(tl.load(whole + first + chunk)) + tl.load(dentering + at, mask=i < SIZE, other=0.0)


@triton.jit
def interface_gradient_kernel(
    q, k, own_q, own_k, x, z, mimo_x, mimo_z, mimo_o, log_decay, now, later, whole, entering, dleaving, dout,
    dq, dk, down_q, down_k, dlog_decay, dnow, dlater, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of the interfaces and of the three numbers of each token.

    A token is read with the rotation that it was written with, so its angle does not matter to itself. Its own pairs
    therefore send their gradients to own_q and own_k, the interfaces before rotation: as two large terms in q and k
    they would cancel in the gradient of the angle, and under strong decay nothing else is left of it.
    """
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    from_start, to_end, between = decays(scalars(log_decay, base, head, chunk, H, L, T), T)
    later_ = scalars(later, base, head, chunk, H, L, T)
    du = readout_gradient(z, mimo_z, mimo_o, dout, base, head, chunk, H, L, T, R, RP, P, PP)
    v = content(x, base, head, chunk, H, L, T, RP, P, PP) * lift(mimo_x, head, T, R, RP, P, PP)
    reading = interface(q, base, head, chunk, H, L, T, R, RP, N, NP)
    writing = interface(k, base, head, chunk, H, L, T, R, RP, N, NP)
    h = state(entering, index, N, NP, P, PP)
    g = state(dleaving, index, N, NP, P, PP)
    dproduct = dot(du, tl.trans(v), PRECISION)
    dscore = dproduct * spread_pairs(between * later_[None, :], T, RP)
    du_h = dot(du, h, PRECISION)
    v_g = dot(v, g, PRECISION)
    starting, ending = spread(from_start, T, RP), spread(later_ * to_end, T, RP)
    dreading = dot(dscore, writing, PRECISION) + starting[:, None] * du_h
    dwriting = dot(tl.trans(dscore), reading, PRECISION) + ending[:, None] * v_g
    put_interface(dq, dreading, base, head, chunk, H, L, T, R, RP, N, NP)
    put_interface(dk, dwriting, base, head, chunk, H, L, T, R, RP, N, NP)

    i = tl.arange(0, T)
    own_weights = tl.where(i[:, None] == i[None, :], scalars(now, base, head, chunk, H, L, T)[None, :], 0.0)
    dscore = dproduct * spread_pairs(own_weights, T, RP)
    own_writing = interface(own_k, base, head, chunk, H, L, T, R, RP, N, NP)
    own_reading = interface(own_q, base, head, chunk, H, L, T, R, RP, N, NP)
    dwriting = dot(tl.trans(dscore), own_reading, PRECISION)
    put_interface(down_q, dot(dscore, own_writing, PRECISION), base, head, chunk, H, L, T, R, RP, N, NP)
    put_interface(down_k, dwriting, base, head, chunk, H, L, T, R, RP, N, NP)

    dpairs = gather_pairs(dproduct * dot(reading, tl.trans(writing), PRECISION), T, RP)
    dbetween = dpairs * between
    through = gather(tl.sum(writing * v_g, 1), T, RP) * to_end  # to the states after this chunk
    from_entering = gather(tl.sum(reading * du_h, 1), T, RP) * from_start
    put_scalars(dnow, tl.sum(tl.where(i[:, None] == i[None, :], dpairs, 0.0), 0), base, head, chunk, H, L, T)
    put_scalars(dlater, tl.sum(dbetween, 0) + through, base, head, chunk, H, L, T)
    passed = tl.exp(tl.load(whole + index)) * tl.sum(tl.sum(g * h, 1), 0)
    inside = (i[None, :, None] < i[:, None, None]) & (i[:, None, None] <= i[None, None, :])  # (j, s, t): s < j <= t
    weighted = tl.trans(dbetween * later_[None, :])  # (s, t)
    ddecay = tl.sum(tl.sum(tl.where(inside, weighted[None, :, :], 0.0), 2), 1) + passed
    ddecay += tl.sum(tl.where(i[None, :] >= i[:, None], from_entering[None, :], 0.0), 1)
    ddecay += tl.sum(tl.where(i[None, :] < i[:, None], (through * later_)[None, :], 0.0), 1)
    put_scalars(dlog_decay, ddecay, base, head, chunk, H, L, T)


@triton.jit
def content_gradient_kernel(
    q, k, x, z, mimo_x, mimo_z, mimo_o, D, log_decay, now, later, entering, dleaving, dout,
    dx, dz, dmimo_x, dmimo_z, dmimo_o, dD, H, L, C,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
    P: tl.constexpr, PP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of content, gate and the weights that lift and contract them."""
    base, head, chunk = place(H, L)
    index = tl.program_id(0).to(tl.int64) * C + chunk
    from_start, to_end, between = decays(scalars(log_decay, base, head, chunk, H, L, T), T)
    later_ = scalars(later, base, head, chunk, H, L, T)
    pairs = pair_weights(between, scalars(now, base, head, chunk, H, L, T), later_, T)
    reading = interface(q, base, head, chunk, H, L, T, R, RP, N, NP)
    writing = interface(k, base, head, chunk, H, L, T, R, RP, N, NP)
    score = dot(reading, tl.trans(writing), PRECISION) * spread_pairs(pairs, T, RP)
    X = content(x, base, head, chunk, H, L, T, RP, P, PP)
    lift_x = lift(mimo_x, head, T, R, RP, P, PP)
    v = X * lift_x
    skip = tl.load(D + head)
    u = dot(score, v, PRECISION) + skip * v
    h = state(entering, index, N, NP, P, PP)
    u += dot(reading * spread(from_start, T, RP)[:, None], tl.trans(h), PRECISION)

    Z = content(z, base, head, chunk, H, L, T, RP, P, PP)
    lift_z = lift(mimo_z, head, T, R, RP, P, PP)
    lift_o = lift(mimo_o, head, T, R, RP, P, PP)
    given = content(dout, base, head, chunk, H, L, T, RP, P, PP)
    a = Z * lift_z
    s = tl.sigmoid(a)
    du = given * a * s * lift_o
    da = given * u * lift_o * (s + a * s * (1 - s))
    put_content(dz, da * lift_z, base, head, chunk, H, L, T, RP, P, PP)
    put_partial(dmimo_z, da * Z, index, T, R, RP, P, PP)
    put_partial(dmimo_o, given * u * a * s, index, T, R, RP, P, PP)
    tl.store(dD + index, tl.sum(tl.sum(du * v, 1), 0))

    g = state(dleaving, index, N, NP, P, PP)
    dv = dot(tl.trans(score), du, PRECISION) + skip * du
    dv += dot(writing * spread(later_ * to_end, T, RP)[:, None], tl.trans(g), PRECISION)
    put_content(dx, dv * lift_x, base, head, chunk, H, L, T, RP, P, PP)
    put_partial(dmimo_x, dv * X, index, T, R, RP, P, PP)
