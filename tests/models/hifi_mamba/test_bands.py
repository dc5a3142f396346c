"""Bands, bottleneck and gate: nothing is lost by the split, and each low-pass filter has the gain that it should."""

import pytest
import torch

from models.small import perturb
from somamba.models.hifi_mamba.bands import LOW_PASS, Bottleneck, ChannelGate, Laplacian


@pytest.mark.parametrize("band", LOW_PASS)
def test_both_bands_sum_to_what_was_split(band, rng):
    split = perturb(Laplacian(3, 2, band))
    stream = torch.randn(1, 3, 8, 10, generator=rng)
    low, high = split(stream)
    torch.testing.assert_close(low + high, split.bottleneck(stream))


@pytest.mark.parametrize(("band", "gain"), [("haar", 2), ("avgpool", 1), ("binomial", 1)])
def test_a_constant_passes_with_the_gain_of_the_filter(band, gain):
    assert torch.allclose(LOW_PASS[band]()(torch.ones(1, 2, 8, 6)), torch.full((1, 2, 4, 3), float(gain)))


@pytest.mark.parametrize("band", LOW_PASS)
def test_the_checkerboard_does_not_pass(band):
    y, x = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
    assert LOW_PASS[band]()(((-1.0) ** (y + x)).expand(1, 1, 8, 8)).abs().max() < 1e-6


def test_the_binomial_filter_is_centred_on_every_second_sample():
    impulse = torch.zeros(1, 1, 12, 12)
    impulse[0, 0, 4, 6] = 1
    response = LOW_PASS["binomial"]()(impulse)[0, 0]
    row = torch.tensor([1.0, 6.0, 1.0]) / 16
    assert torch.allclose(response[1:4, 2:5], row[:, None] * row)
    assert response.sum() == pytest.approx((8 / 16) ** 2)


def test_a_bottleneck_sees_its_neighbours_in_all_channels(rng):
    block = perturb(Bottleneck(4, 3))
    features = torch.randn(1, 4, 6, 6, generator=rng)
    assert not torch.allclose(block(features), features)
    torch.testing.assert_close(block(features) - features, block.branch(features))


def test_a_pooled_gate_is_one_number_for_a_channel_and_a_local_one_is_not(rng):
    features = torch.randn(2, 4, 6, 6, generator=rng)
    for pooled in (True, False):
        gates = perturb(ChannelGate(4, pooled=pooled))(features) / features
        assert gates.min() > 0
        assert gates.max() < 1
        spread = (gates.amax((2, 3)) - gates.amin((2, 3))).max()
        assert (spread < 1e-5) == pooled
