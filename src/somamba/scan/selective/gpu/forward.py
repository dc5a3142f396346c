"""Kernels of the forward selective scan: what each chunk adds, the state each chunk starts with, the read-out."""

import triton
import triton.language as tl

from somamba.scan.selective.gpu.tiles import at_token, interface, known, place, put_state, put_token, rates, state


@triton.jit
def added_kernel(
    u, dt, A, B, added, spent, L, G, W, C, T: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, K: tl.constexpr
):
    """Compute the state that a chunk adds, and the sum of its steps for each channel."""
    entry, group, _, channels, exists = place(G, W, K)
    chunk, width = tl.program_id(1), G * W
    a = rates(A, channels, exists, N, NP)
    h = tl.zeros((K, NP), tl.float32)
    total = tl.zeros((K,), tl.float32)
    for i in range(T):
        t = chunk * T + i
        step = at_token(dt, entry, t, channels, exists, L, width)
        written = step * at_token(u, entry, t, channels, exists, L, width)
        h = tl.exp(step[:, None] * a) * h + written[:, None] * interface(B, entry, t, group, L, G, N, NP)[None, :]
        total += step
    index = entry * C + chunk
    put_state(added, h, index, channels, exists, width, N, NP)
    tl.store(spent + index * width + channels, total, mask=exists)


@triton.jit
def entering_kernel(added, spent, A, entering, C, WIDTH, N: tl.constexpr, BLOCK: tl.constexpr):
    """Pass the state from chunk to chunk; every number of it is a recurrence of its own."""
    first = tl.program_id(0).to(tl.int64) * C
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    exists = i < WIDTH * N
    a = tl.load(A + i, mask=exists, other=0.0)
    h = tl.zeros((BLOCK,), tl.float32)
    for chunk in range(C):
        index = first + chunk
        tl.store(entering + index * WIDTH * N + i, h, mask=exists)
        step = tl.load(spent + index * WIDTH + i // N, mask=exists, other=0.0)
        h = tl.exp(a * step) * h + tl.load(added + index * WIDTH * N + i, mask=exists, other=0.0)


@triton.jit
def readout_kernel(
    u, dt, A, B, reads, D, entering, out, states, L, G, W, C,
    T: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, K: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Read the state at every token of a chunk and add the skip; write the states too if KEEP."""
    entry, group, _, channels, exists = place(G, W, K)
    chunk, width = tl.program_id(1), G * W
    a = rates(A, channels, exists, N, NP)
    skip = tl.load(D + channels, mask=exists, other=0.0)
    h = state(entering, entry * C + chunk, channels, exists, width, N, NP)
    for i in range(T):
        t = chunk * T + i
        step = at_token(dt, entry, t, channels, exists, L, width)
        x = at_token(u, entry, t, channels, exists, L, width)
        h = tl.exp(step[:, None] * a) * h + (step * x)[:, None] * interface(B, entry, t, group, L, G, N, NP)[None, :]
        y = tl.sum(h * interface(reads, entry, t, group, L, G, N, NP)[None, :], 1) + skip * x
        put_token(out, y, entry, t, channels, exists, L, width)
        if KEEP:
            put_state(states, h, entry * L + t, channels, known(exists, t, L), width, N, NP)
