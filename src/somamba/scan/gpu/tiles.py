"""Pieces that the Triton kernels share: how a tile is read and written, and the decays within a chunk.

A chunk has T tokens. Rows of a tile are pairs (token, rank): ``T * RP`` of them, token by token. Triton wants powers of
two, so rank, state and width are padded to RP, NP and PP; padded places are read as zero and never written.

ptr    address of a tensor ``(batch, tokens, heads, ...)``      base   number of the first token of the batch entry
head   the head, of H                                          chunk  the chunk, of ``ceil(L / T)``
"""

import triton
import triton.language as tl


@triton.jit
def place(H, L):
    """Return base, head and chunk of this program; the grid is ``(batch * heads, chunks)``."""
    bh = tl.program_id(0)
    return (bh // H).to(tl.int64) * L, bh % H, tl.program_id(1)


@triton.jit
def dot(a, b, PRECISION: tl.constexpr):
    """Multiply two tiles with float32 sums."""
    return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def scalars(ptr, base, head, chunk, H, L, T: tl.constexpr):
    """Read one number for each token: ``(T,)``."""
    t = chunk * T + tl.arange(0, T)
    return tl.load(ptr + (base + t) * H + head, mask=t < L, other=0.0)


@triton.jit
def put_scalars(ptr, values, base, head, chunk, H, L, T: tl.constexpr):
    """Write one number for each token."""
    t = chunk * T + tl.arange(0, T)
    tl.store(ptr + (base + t) * H + head, values, mask=t < L)


@triton.jit
def interface(
    ptr, base, head, chunk, H, L,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
):  # fmt: skip
    """Read rows of q or k ``(batch, tokens, heads, rank, n)``: ``(T * RP, NP)``."""
    m = tl.arange(0, T * RP)
    n = tl.arange(0, NP)
    t, r = chunk * T + m // RP, m % RP
    at = (((base + t) * H + head) * R + r)[:, None] * N + n[None, :]
    return tl.load(ptr + at, mask=((t < L) & (r < R))[:, None] & (n < N)[None, :], other=0.0)


@triton.jit
def put_interface(
    ptr, values, base, head, chunk, H, L,
    T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr,
):  # fmt: skip
    """Write rows of the gradient of q or k."""
    m = tl.arange(0, T * RP)
    n = tl.arange(0, NP)
    t, r = chunk * T + m // RP, m % RP
    at = (((base + t) * H + head) * R + r)[:, None] * N + n[None, :]
    tl.store(ptr + at, values, mask=((t < L) & (r < R))[:, None] & (n < N)[None, :])


@triton.jit
def content(
    ptr, base, head, chunk, H, L, T: tl.constexpr, RP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr
):  # fmt: skip
    """Read x, z or a gradient ``(batch, tokens, heads, p)``, each token repeated for every rank: ``(T * RP, PP)``."""
    t = chunk * T + tl.arange(0, T * RP) // RP
    p = tl.arange(0, PP)
    at = ((base + t) * H + head)[:, None] * P + p[None, :]
    return tl.load(ptr + at, mask=(t < L)[:, None] & (p < P)[None, :], other=0.0)


@triton.jit
def put_content(
    ptr, rows, base, head, chunk, H, L, T: tl.constexpr, RP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr
):  # fmt: skip
    """Sum rows ``(T * RP, PP)`` over the rank and write one row for each token."""
    t = chunk * T + tl.arange(0, T)
    p = tl.arange(0, PP)
    at = ((base + t) * H + head)[:, None] * P + p[None, :]
    tl.store(ptr + at, tl.sum(tl.reshape(rows, (T, RP, PP)), 1), mask=(t < L)[:, None] & (p < P)[None, :])


@triton.jit
def lift(ptr, head, T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr):
    """Read weights ``(heads, rank, p)`` of one head, repeated for every token: ``(T * RP, PP)``."""
    r = tl.arange(0, T * RP) % RP
    p = tl.arange(0, PP)
    at = (head * R + r)[:, None] * P + p[None, :]
    return tl.load(ptr + at, mask=(r < R)[:, None] & (p < P)[None, :], other=0.0)


@triton.jit
def put_partial(
    ptr, rows, index, T: tl.constexpr, R: tl.constexpr, RP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr
):
    """Sum rows over the tokens of the chunk and write them as entry ``index`` of ``(chunks of all heads, rank, p)``."""
    r = tl.arange(0, RP)
    p = tl.arange(0, PP)
    at = (index * R + r)[:, None] * P + p[None, :]
    tl.store(ptr + at, tl.sum(tl.reshape(rows, (T, RP, PP)), 0), mask=(r < R)[:, None] & (p < P)[None, :])


@triton.jit
def state(ptr, index, N: tl.constexpr, NP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr):
    """Read entry ``index`` of ``(..., p, n)``: ``(PP, NP)``."""
    p, n = tl.arange(0, PP), tl.arange(0, NP)
    at = index * P * N + p[:, None] * N + n[None, :]
    return tl.load(ptr + at, mask=(p < P)[:, None] & (n < N)[None, :], other=0.0)


@triton.jit
def put_state(ptr, values, index, N: tl.constexpr, NP: tl.constexpr, P: tl.constexpr, PP: tl.constexpr):
    """Write entry ``index`` of ``(..., p, n)``."""
    p, n = tl.arange(0, PP), tl.arange(0, NP)
    at = index * P * N + p[:, None] * N + n[None, :]
    tl.store(ptr + at, values, mask=(p < P)[:, None] & (n < N)[None, :])


@triton.jit
def spread(values, T: tl.constexpr, RP: tl.constexpr):
    """Repeat one number for each token for every rank: ``(T,)`` to ``(T * RP,)``."""
    return tl.reshape(tl.broadcast_to(values[:, None], (T, RP)), (T * RP,))


@triton.jit
def gather(rows, T: tl.constexpr, RP: tl.constexpr):
    """Sum one number for each row over the rank: ``(T * RP,)`` to ``(T,)``."""
    return tl.sum(tl.reshape(rows, (T, RP)), 1)


@triton.jit
def spread_pairs(pairs, T: tl.constexpr, RP: tl.constexpr):
    """Repeat a matrix over tokens for all pairs of ranks: ``(T, T)`` to ``(T * RP, T * RP)``."""
    return tl.reshape(tl.broadcast_to(pairs[:, None, :, None], (T, RP, T, RP)), (T * RP, T * RP))


@triton.jit
def gather_pairs(rows, T: tl.constexpr, RP: tl.constexpr):
    """Sum a matrix over rows over all pairs of ranks: ``(T * RP, T * RP)`` to ``(T, T)``."""
    return tl.sum(tl.sum(tl.reshape(rows, (T, RP, T, RP)), 3), 1)


@triton.jit
def decays(log_decay, T: tl.constexpr):
    """Return the decay from the chunk's start to each token, from each token to the end, and between two tokens.

    Every sum runs over its own tokens. Differences of running sums would cancel under strong decay.
    """
    i = tl.arange(0, T)
    from_start = tl.exp(tl.sum(tl.where(i[None, :] <= i[:, None], log_decay[None, :], 0.0), 1))
    to_end = tl.exp(tl.sum(tl.where(i[None, :] > i[:, None], log_decay[None, :], 0.0), 1))
    inside = (i[None, :, None] < i[None, None, :]) & (i[None, None, :] <= i[:, None, None])
    pairs = tl.sum(tl.where(inside, log_decay[None, None, :], 0.0), 2)
    return from_start, to_end, tl.where(i[:, None] > i[None, :], tl.exp(pairs), 0.0)


@triton.jit
def pair_weights(between, now, later, T: tl.constexpr):
    """Return the weight of token s in the read-out of token t: ``(T, T)``."""
    i = tl.arange(0, T)
    return between * later[None, :] + tl.where(i[:, None] == i[None, :], now[None, :], 0.0)
