"""The fastMRI U-Net: its size, its switches, and what instance norms do to the brightness of an image."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.definitions import channels, convolved, joined, normed
from models.small import gradients, measure, perturb, shrink
from promises import relative_error
from somamba.errors import ConfigError
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.unet import UNet, UNetConfig

SMALL = shrink(UNetConfig())


def network(**changes):
    torch.manual_seed(0)
    return perturb(UNet(replace(SMALL, **changes)))


def test_the_default_has_the_parameters_of_fastmri_and_one_channel_more():
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in UNet().parameters())
    # fastMRI's network for one channel has 7 756 097; a second adds 32 filters of 9 and an output with its bias.
    assert count == 7_756_097 + 32 * 9 + 32 + 1


def test_the_default_costs_18_8_giga_macs_at_320():
    # Every term is proportional to the pixels.
    assert 100 * measure_cost(UNet(), (32, 32)).all == pytest.approx(18.8e9, rel=0.01)


def test_a_residual_network_adds_to_the_zero_filled_image():
    y, A = measure((24, 40))
    plain, residual = network(), network(residual=True)
    with torch.no_grad():
        assert relative_error(residual(y, A), A.adjoint(y) + plain(y, A)) < 1e-6


def test_the_brightness_of_the_measurements_is_lost():
    # Every channel of every convolution is brought to unit variance: twice the signal gives the same image.
    y, A = measure((24, 40))
    with torch.no_grad():
        assert relative_error(network()(20 * y, A), network()(10 * y, A)) < 1e-4


def test_dropout_is_for_training_alone():
    y, A = measure((24, 40))
    dropping, keeping = network(dropout=0.5), network()
    with torch.no_grad():
        assert not torch.equal(dropping.train()(y, A), dropping(y, A))
        assert torch.equal(dropping.eval()(y, A), keeping.eval()(y, A))


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8)])
def test_an_image_smaller_than_the_pools_still_trains(size):
    image, found = gradients(network(), *measure(size))
    assert image.shape[-2:] == size
    assert all(gradient.isfinite().all() and gradient.any() for gradient in found.values())


def test_a_dropout_of_everything_is_refused():
    with pytest.raises(ConfigError, match=r"dropout=1\.0 is no probability"):
        UNetConfig(dropout=1.0)


def activated(x):
    """Instance norm without weights, then LeakyReLU with a slope of 0.2."""
    x = normed(x, (2, 3))
    return torch.where(x > 0, x, 0.2 * x)


def level_by_definition(level, x):
    for part in (level[0], level[2]):
        x = activated(convolved(part.convolution, x))
    return x


@torch.no_grad()
def test_the_network_is_a_u_with_average_pools_and_concatenated_skips():
    network_ = network().double().eval()
    y, A = measure((24, 40))
    y = y.to(torch.complex128)
    x, skips = channels(A.adjoint(y)), []
    for down in network_.down:
        x = level_by_definition(down, x)
        skips.append(x)
        x = (x[..., ::2, ::2] + x[..., 1::2, ::2] + x[..., ::2, 1::2] + x[..., 1::2, 1::2]) / 4
    assert len(skips) == SMALL.pools == 3
    x = level_by_definition(network_.coarsest, x)
    for finer, up in zip(network_.finer, network_.up, strict=True):
        x = activated(F.conv_transpose2d(x, finer.convolution.weight, stride=2))
        x = level_by_definition(up, torch.cat((x, skips.pop()), dim=1))
    expected = joined(convolved(network_.to_image, x))
    torch.testing.assert_close(network_(y, A), expected, rtol=1e-9, atol=1e-9)
