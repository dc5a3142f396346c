"""Kernels of the backward selective scan. Each recomputes what it needs from the arguments and the entering states.

Sums over chunks and over programs of a group are written as partial sums and added up outside, so that results repeat
bit by bit. The adjoint of a state is ``g[t] = C[t] dy[t] + a[t+1] g[t+1]``.
"""

import triton
import triton.language as tl

from somamba.scan.selective.gpu.tiles import at_token, interface, known, place, put_state, put_token, rates, state


@triton.jit
def entering_gradient_kernel(
    dt, A, reads, dout, dentering, L, G, W, C, T: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, K: tl.constexpr
):
    """Compute the gradient that a chunk's own read-out gives to the state it starts with."""
    entry, group, _, channels, exists = place(G, W, K)
    chunk, width = tl.program_id(1), G * W
    a = rates(A, channels, exists, N, NP)
    g = tl.zeros((K, NP), tl.float32)
    for i in range(T):
        t = chunk * T + T - 1 - i
        dy = at_token(dout, entry, t, channels, exists, L, width)
        decay = tl.exp(at_token(dt, entry, t, channels, exists, L, width)[:, None] * a)
        g = decay * (g + dy[:, None] * interface(reads, entry, t, group, L, G, N, NP)[None, :])
    put_state(dentering, g, entry * C + chunk, channels, exists, width, N, NP)


@triton.jit
def leaving_gradient_kernel(dentering, spent, A, dleaving, C, WIDTH, N: tl.constexpr, BLOCK: tl.constexpr):
    """Pass the gradient of the state from chunk to chunk, backwards: that of the state which each chunk ends with."""
    first = tl.program_id(0).to(tl.int64) * C
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    exists = i < WIDTH * N
    a = tl.load(A + i, mask=exists, other=0.0)
    g = tl.zeros((BLOCK,), tl.float32)
    for number in range(C):
        index = first + C - 1 - number
        tl.store(dleaving + index * WIDTH * N + i, g, mask=exists)
        step = tl.load(spent + index * WIDTH + i // N, mask=exists, other=0.0)
        g = tl.exp(a * step) * g + tl.load(dentering + index * WIDTH * N + i, mask=exists, other=0.0)


@triton.jit
def gradient_kernel(
    u, dt, A, B, reads, D, entering, dleaving, dout, du, ddt, dA, dB, dreads, L, G, W, C,
    T: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Compute all gradients of a chunk: forwards to know its states, then backwards."""
    entry, group, number, channels, exists = place(G, W, K)
    chunk, width = tl.program_id(1), G * W
    index = entry * C + chunk
    a = rates(A, channels, exists, N, NP)
    skip = tl.load(D + channels, mask=exists, other=0.0)
    n, token = tl.arange(0, NP), tl.arange(0, T)[:, None, None]
    h = state(entering, index, channels, exists, width, N, NP)
    before = tl.zeros((T, K, NP), tl.float32)
    for i in range(T):
        t = chunk * T + i
        before = tl.where(token == i, h[None, :, :], before)
        step = at_token(dt, entry, t, channels, exists, L, width)
        written = step * at_token(u, entry, t, channels, exists, L, width)
        h = tl.exp(step[:, None] * a) * h + written[:, None] * interface(B, entry, t, group, L, G, N, NP)[None, :]

    g = state(dleaving, index, channels, exists, width, N, NP)
    of_rates = tl.zeros((K, NP), tl.float32)
    entries = tl.num_programs(0) // tl.cdiv(W, K) // G
    for i in range(T):
        j = T - 1 - i
        t = chunk * T + j
        step = at_token(dt, entry, t, channels, exists, L, width)
        x = at_token(u, entry, t, channels, exists, L, width)
        dy = at_token(dout, entry, t, channels, exists, L, width)
        writes = interface(B, entry, t, group, L, G, N, NP)
        decay = tl.exp(step[:, None] * a)
        earlier = tl.sum(tl.where(token == j, before, 0.0), 0)
        h = decay * earlier + (step * x)[:, None] * writes[None, :]
        g += dy[:, None] * interface(reads, entry, t, group, L, G, N, NP)[None, :]
        read = tl.sum(g * writes[None, :], 1)
        at = (((number * entries + entry) * L + t) * G + group) * N + n
        tl.store(dreads + at, tl.sum(h * dy[:, None], 0), mask=known(n < N, t, L))
        tl.store(dB + at, tl.sum(g * (step * x)[:, None], 0), mask=known(n < N, t, L))
        g *= decay
        through = g * earlier
        put_token(du, step * read + skip * dy, entry, t, channels, exists, L, width)
        put_token(ddt, x * read + tl.sum(through * a, 1), entry, t, channels, exists, L, width)
        of_rates += through * step[:, None]
    put_state(dA, of_rates, index, channels, exists, width, N, NP)
