"""Attention inside windows is what a plain loop makes it, in whatever portions it is made."""

import pytest
import torch

from somamba.models.layers import window_attention
from somamba.models.layers.window_attention import Pair, WindowAttention
from somamba.models.layers.windows import Windows


@pytest.fixture
def make(rng):
    """Tensors of a grid of 12 x 20 tokens in windows of 4, for two slices and three heads."""
    return lambda depth: torch.randn(15, 2, 3, depth, 16, dtype=torch.float64, generator=rng)


def loop(pairs, v, apart=None, bias=None):
    attended = torch.zeros_like(v)
    for window in range(len(v)):
        for batch in range(v.shape[1]):
            for head in range(v.shape[2]):
                scores = sum(pair.q[window, batch, head].T @ pair.k[window, batch, head] for pair in pairs)
                if bias is not None:
                    scores = scores + bias[head]
                if apart is not None:
                    scores[apart[window]] = -1e9
                attended[window, batch, head] = v[window, batch, head] @ scores.softmax(dim=1).T
    return attended


def test_attention_equals_a_plain_loop(make, rng):
    windows = Windows(12, 20, 4, 2)
    pairs, v = [Pair(make(5), make(5))], make(7)
    bias = torch.randn(3, 16, 16, dtype=torch.float64, generator=rng)
    attended = WindowAttention()(pairs, v, windows, bias)
    torch.testing.assert_close(attended, loop(pairs, v, windows.apart(0, 15), bias))


def test_the_maps_of_several_pairs_are_added(make):
    pairs, v = [Pair(make(5), make(5)), Pair(make(2), make(2))], make(4)
    torch.testing.assert_close(WindowAttention()(pairs, v, Windows(12, 20, 4)), loop(pairs, v))


def test_portions_do_not_change_the_result(make, monkeypatch):
    windows = Windows(12, 20, 4, 2)
    pairs, v = [Pair(make(5), make(5))], make(4)
    whole = WindowAttention()(pairs, v, windows)
    monkeypatch.setattr(window_attention, "_AT_ONCE", 4 * 2 * 3 * 16**2)  # four windows of the fifteen
    torch.testing.assert_close(WindowAttention()(pairs, v, windows), whole)


def test_filling_is_never_seen(make):
    windows = Windows(11, 19, 4)
    v = make(4).requires_grad_()
    attended = WindowAttention()([Pair(make(3), make(3))], v, windows)
    windows.merge(attended).sum().backward()
    seen = windows.merge(v.grad).abs()
    assert seen.min() > 0
    torch.testing.assert_close(v.grad.sum(), seen.sum())  # nothing outside the grid
