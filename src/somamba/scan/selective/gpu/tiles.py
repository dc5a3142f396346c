"""Pieces that the kernels of the selective scan share: where a program stands, and how a token is read.

A program has K channels of one group and T tokens, which it walks through one by one; the states of its channels are a
tile ``(K, NP)``. Padded places are read as zero: a step of zero neither decays nor writes.

G  groups       W  channels of a group      L  tokens       C  chunks
"""

import triton
import triton.language as tl


@triton.jit
def place(G, W, K: tl.constexpr):
    """Return batch entry, group, number of the program in its group, channels ``(K,)``, and which of them exist.

    The grid is ``(batch * groups * programs of a group, chunks)``.
    """
    programs = tl.cdiv(W, K)
    number = tl.program_id(0) % programs
    of_group = tl.program_id(0) // programs
    inside = number * K + tl.arange(0, K)
    group = of_group % G
    return (of_group // G).to(tl.int64), group, number, group * W + inside, inside < W


@triton.jit
def known(exists, t, L):
    """Return the mask ``exists``, or nothing after the last token; Triton's interpreter takes no scalar in a mask."""
    return exists & (t + tl.zeros_like(exists).to(tl.int32) < L)


@triton.jit
def rates(A, channels, exists, N: tl.constexpr, NP: tl.constexpr):
    """Read the rates of decay ``(channels, n)``: ``(K, NP)``."""
    n = tl.arange(0, NP)
    return tl.load(A + channels[:, None] * N + n[None, :], mask=exists[:, None] & (n < N)[None, :], other=0.0)


@triton.jit
def at_token(ptr, entry, t, channels, exists, L, width):
    """Read one number for each channel of ``(batch, tokens, channels)``: ``(K,)``."""
    return tl.load(ptr + (entry * L + t) * width + channels, mask=known(exists, t, L), other=0.0)


@triton.jit
def put_token(ptr, values, entry, t, channels, exists, L, width):
    """Write one number for each channel."""
    tl.store(ptr + (entry * L + t) * width + channels, values, mask=known(exists, t, L))


@triton.jit
def interface(ptr, entry, t, group, L, G, N: tl.constexpr, NP: tl.constexpr):
    """Read B or C ``(batch, tokens, groups, n)`` of one token: ``(NP,)``."""
    n = tl.arange(0, NP)
    return tl.load(ptr + ((entry * L + t) * G + group) * N + n, mask=known(n < N, t, L), other=0.0)


@triton.jit
def state(ptr, index, channels, exists, width, N: tl.constexpr, NP: tl.constexpr):
    """Read entry ``index`` of ``(..., channels, n)``: ``(K, NP)``."""
    n = tl.arange(0, NP)
    at = (index * width + channels)[:, None] * N + n[None, :]
    return tl.load(ptr + at, mask=exists[:, None] & (n < N)[None, :], other=0.0)


@triton.jit
def put_state(ptr, values, index, channels, exists, width, N: tl.constexpr, NP: tl.constexpr):
    """Write entry ``index`` of ``(..., channels, n)``."""
    n = tl.arange(0, NP)
    at = (index * width + channels)[:, None] * N + n[None, :]
    tl.store(ptr + at, values, mask=exists[:, None] & (n < N)[None, :])
