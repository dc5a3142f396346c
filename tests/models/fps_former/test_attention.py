"""The two attentions are what plain loops make them, and sorting the tokens of a window is of no effect."""

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter

from models.small import perturb
from somamba.models.fps_former.attention import Attention, FrequencyAttention, SpatialAttention, gaussian


def grid_of(rng, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=rng)


@pytest.fixture
def spatial():
    torch.manual_seed(0)
    return SpatialAttention(6, heads=2, window=4).double()


@pytest.fixture
def frequency():
    torch.manual_seed(0)
    return perturb(FrequencyAttention(5, bands=3)).double()


def test_spatial_attention_is_unscaled_attention_of_a_window(spatial, rng):
    grid = grid_of(rng, 1, 8, 8, 6)
    tokens = grid[0, 4:, :4].reshape(16, 6)
    heads = []
    for head in (slice(0, 9), slice(9, 18)):
        q, k, v = (to(tokens)[:, head] for to in (spatial.to_q, spatial.to_k, spatial.to_v))
        heads.append((q @ k.T).softmax(dim=1) @ v)
    expected = spatial.project(torch.cat(heads, dim=1)).reshape(4, 4, 6)
    torch.testing.assert_close(spatial(grid)[0, 4:, :4], expected)


def test_sorting_the_tokens_of_a_window_before_and_back_after_is_of_no_effect(spatial, rng):
    # The published code sorts by a hash, cuts into groups as large as the window, and undoes the sorting.
    grid = grid_of(rng, 1, 4, 4, 6)
    order = torch.randperm(16, generator=rng)
    shuffled = grid.reshape(16, 6)[order].reshape(1, 4, 4, 6)
    undone = torch.empty(16, 6, dtype=torch.float64)
    undone[order] = spatial(shuffled).reshape(16, 6)
    torch.testing.assert_close(undone.reshape(1, 4, 4, 6), spatial(grid))


@pytest.mark.parametrize(("size", "sigma"), [(3, 1.6), (5, 2.0159), (7, 1.0)])
def test_the_blur_is_the_gaussian_of_scipy(size, sigma):
    impulse = np.zeros((size, size))
    impulse[size // 2, size // 2] = 1
    expected = gaussian_filter(impulse, sigma, mode="constant", radius=size // 2)
    np.testing.assert_allclose(gaussian(size, sigma).numpy(), expected, atol=1e-7)


def blurred(image, size, sigma):
    return np.stack([gaussian_filter(channel, sigma, mode="constant", radius=size // 2) for channel in image])


def test_the_channel_map_is_a_sum_over_bands(frequency, rng):
    grid = grid_of(rng, 1, 10, 12, 5)
    image = grid[0].permute(2, 0, 1).numpy()
    once = blurred(image, 3, 1.6)
    twice = blurred(once, 5, 1.6 * 2 ** (1 / 3))
    expected = torch.zeros(5, 5, dtype=torch.float64)
    for number, band in enumerate((image, image - once, once - twice)):
        tokens = torch.from_numpy(band).flatten(1)
        affinity = tokens.softmax(dim=1) @ tokens.T
        expected += affinity.softmax(dim=1) if number == 0 else affinity
    torch.testing.assert_close(frequency.map(grid)[0], expected, rtol=1e-6, atol=1e-6)  # the kernels are float32


def test_frequency_attention_gives_each_token_its_share_of_the_map(frequency, rng):
    grid = grid_of(rng, 2, 6, 7, 5)
    q = frequency.to_q(grid.permute(0, 3, 1, 2)).softmax(dim=1)
    expected = torch.einsum("bqyx,bqc->byxc", q, frequency.map(grid))
    torch.testing.assert_close(frequency(grid), expected)


def test_bands_change_the_map(rng):
    grid = grid_of(rng, 1, 6, 6, 5)
    one, two = (FrequencyAttention(5, bands).double().map(grid) for bands in (1, 2))
    assert not torch.allclose(one, two, atol=1e-3)


def test_both_attentions_are_mixed_channel_by_channel(rng):
    torch.manual_seed(0)
    attention = Attention(6, heads=2, window=4, bands=3).double()
    grid = grid_of(rng, 1, 8, 8, 6)
    with torch.no_grad():
        attention.mix.copy_(torch.tensor([[1.0] * 3 + [0.0] * 3, [0.0] * 3 + [1.0] * 3]))
        expected = torch.cat((attention.spatial(grid)[..., :3], attention.frequency(grid)[..., 3:]), dim=-1)
        torch.testing.assert_close(attention(grid), expected)
