"""The attention remembers its map as the paper's recurrence says, and its heads see three scales."""

import pytest
import torch

from models.small import perturb
from somamba.models.layers.windows import Windows
from somamba.models.recon_former.attention import PyramidAttention

CHANNELS, HEADS, SIDE = 12, 3, 4


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return perturb(PyramidAttention(CHANNELS, HEADS, SIDE, shift=2)).double()


def literal(attention, grid, previous, lam):
    """One iteration with the map itself, ``S = lam S_before + (1 - lam) (q k^T / sqrt(d) + bias + mask)``."""
    windows = Windows(*grid.shape[1:3], SIDE, 2)
    image = grid.permute(0, 3, 1, 2)
    pairs = [to_qk(image) for to_qk in attention.to_qk]
    q = torch.cat([pair[:, : CHANNELS // 3] for pair in pairs], dim=1).permute(0, 2, 3, 1)
    k = torch.cat([pair[:, CHANNELS // 3 :] for pair in pairs], dim=1).permute(0, 2, 3, 1)
    v = attention.to_v(image).permute(0, 2, 3, 1)
    q, k, v = (windows.split(part, HEADS) for part in (q, k, v))
    score = q.mT @ k / (CHANNELS // HEADS) ** 0.5
    for i in range(SIDE**2):
        for j in range(SIDE**2):
            down, right = i // SIDE - j // SIDE + SIDE - 1, i % SIDE - j % SIDE + SIDE - 1
            score[..., i, j] += attention.bias[:, down * (2 * SIDE - 1) + right]
    apart = windows.apart(0, len(score))
    score = score + torch.where(apart, -100.0, 0.0)[:, None, None]
    score = score if previous is None else lam * previous + (1 - lam) * score
    attended = v @ score.softmax(dim=-1).mT
    return attention.project(windows.merge(attended)), score


def test_the_factors_carry_the_map_of_the_recurrence(attention, rng):
    memory, score = None, None
    with torch.no_grad():
        for _ in range(4):
            grid = torch.randn(2, 12, 16, CHANNELS, dtype=torch.float64, generator=rng)
            attended, memory = attention(grid, memory)
            expected, score = literal(attention, grid, score, attention.share)
            torch.testing.assert_close(attended, expected)


def test_without_a_share_the_past_is_forgotten(attention, rng):
    first, second = torch.randn(2, 1, 8, 8, CHANNELS, dtype=torch.float64, generator=rng)
    with torch.no_grad():
        attention.share.zero_()
        _, memory = attention(first, None)
        torch.testing.assert_close(attention(second, memory)[0], attention(second, None)[0])


def test_a_grid_of_one_window_is_not_shifted(attention, rng):
    grid = torch.randn(1, 4, 4, CHANNELS, dtype=torch.float64, generator=rng).requires_grad_()
    attention(grid, None)[0][0, 0, 0].sum().backward()
    assert grid.grad.flatten(0, 2).any(dim=1).all(), "the first token sees all others"


def test_the_heads_look_at_points_and_at_larger_and_larger_neighbourhoods(attention):
    sides = []
    for to_qk in attention.to_qk:
        image = torch.zeros(1, CHANNELS, 15, 15, dtype=torch.float64, requires_grad=True)
        to_qk(image)[0, :, 7, 7].sum().backward()
        sides.append(int(image.grad[0].any(dim=0).any(dim=0).sum()))
    assert sides == [1, 5, 9]  # of a bottleneck, the field of two filters
