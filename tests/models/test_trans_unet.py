"""TransUNet: its size and cost, attention as a plain loop, positions at any size, statistics of training."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.small import gradients, measure, perturb, shrink
from promises import relative_error
from somamba.errors import ConfigError
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.trans_unet import (
    Attention,
    ResNet,
    StandardisedConvolution,
    Transformer,
    TransUNet,
    TransUNetConfig,
)

SMALL = shrink(TransUNetConfig())


def network(**changes):
    torch.manual_seed(0)
    return perturb(TransUNet(replace(SMALL, **changes))).eval()


@pytest.fixture(scope="module")
def default():
    """The whole network, without the seconds it takes to draw its weights: they may be anything."""
    with torch.device("meta"):
        model = TransUNet()
    return model.to_empty(device="cpu").eval()


def test_the_default_has_the_published_parameters(default):
    count = sum(parameter.numel() for parameter in default.parameters())
    assert count == pytest.approx(105.4e6, rel=0.001)
    # 105.28 M are often quoted: three input channels, and a table of positions for 224x224.
    assert count + 7 * 7 * 64 + (14**2 - 20**2) * 768 == pytest.approx(105.28e6, rel=0.0001)


def test_the_default_costs_61_giga_macs_at_320(default):
    def attention(tokens):
        return 12 * 2 * tokens**2 * 768

    # All but attention is proportional to the pixels.
    others = measure_cost(default, (64, 64)).all - attention(4 * 4)
    assert 25 * others + attention(20 * 20) == pytest.approx(61.1e9, rel=0.01)


def test_attention_is_a_plain_loop_over_tokens_and_heads(rng):
    layer = Attention(d_model=6, heads=2)
    tokens = torch.randn(2, 5, 6, generator=rng)
    queries, keys, values = layer.project(tokens).split(6, dim=-1)
    merged = torch.zeros(2, 5, 6)
    for batch in range(2):
        for head in (slice(0, 3), slice(3, 6)):
            for i in range(5):
                scores = torch.stack([queries[batch, i, head] @ keys[batch, j, head] for j in range(5)]) / math.sqrt(3)
                merged[batch, i, head] = torch.softmax(scores, dim=0) @ values[batch, :, head]
    torch.testing.assert_close(layer(tokens), layer.merge(merged))


def test_filters_are_standardised(rng):
    layer = StandardisedConvolution(3, 4, kernel=3, stride=1)
    image = torch.randn(1, 3, 6, 7, generator=rng)
    centred = layer.weight - layer.weight.mean(dim=(1, 2, 3), keepdim=True)
    unit = centred / (centred.square().mean(dim=(1, 2, 3), keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(layer(image), F.conv2d(image, unit, padding=1))


def test_the_resnet_halves_every_even_side():
    features = ResNet(channels=2, width=4, units=(1, 1, 1), groups=2)(torch.randn(1, 2, 96, 80))
    assert [tuple(level.shape[1:]) for level in features] == [(4, 48, 40), (16, 24, 20), (32, 12, 10), (64, 6, 5)]


def test_positions_are_the_table_at_its_own_size_and_interpolated_at_others():
    transformer = Transformer(4, replace(SMALL, positions=5))
    ramp = torch.linspace(0, 1, 5).expand(1, SMALL.d_model, 5, 5)
    transformer.position.data.copy_(ramp)
    torch.testing.assert_close(transformer.position_on(5, 5), ramp)
    torch.testing.assert_close(transformer.position_on(3, 9)[0, 0, 1], torch.linspace(0, 1, 9))


def test_places_are_told_apart_by_the_table_alone():
    model = Transformer(4, SMALL).eval()
    same_everywhere = torch.ones(1, 4, 3, 3)
    assert model(same_everywhere).std(dim=(-2, -1)).max() < 1e-6  # the table starts at zero
    torch.nn.init.normal_(model.position)
    assert model(same_everywhere).std(dim=(-2, -1)).min() > 1e-3


def test_a_residual_network_adds_to_the_zero_filled_image():
    y, A = measure((40, 33))
    plain, residual = network(), network(residual=True)
    with torch.no_grad():
        assert relative_error(residual(y, A), A.adjoint(y) + plain(y, A)) < 1e-5


def test_dropout_is_for_training_alone():
    y, A = measure((40, 33))
    dropping, keeping = network(dropout=0.5), network(dropout=0.0)
    with torch.no_grad():
        assert torch.equal(dropping(y, A), keeping(y, A))
        assert torch.equal(keeping.train()(y, A), keeping(y, A))
        assert not torch.equal(dropping.train()(y, A), dropping(y, A))


def test_training_normalises_by_the_batch_and_remembers_it():
    y, A = measure((32, 32), batch=2)
    model = network(dropout=0.0)
    before = model.coarsest.norm.running_mean.clone()
    with torch.no_grad():
        evaluated = model(y, A)
        trained = model.train()(y, A)
        remembered = model.eval()(y, A)
    assert not torch.equal(model.coarsest.norm.running_mean, before)
    assert relative_error(trained, evaluated) > 1e-3
    assert relative_error(remembered, evaluated) > 1e-3


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (16, 16)])
@pytest.mark.parametrize("training", [True, False])
def test_an_image_of_one_patch_still_trains(size, training):
    image, found = gradients(network().train(training), *measure(size))
    assert image.shape[-2:] == size
    assert all(gradient.isfinite().all() and gradient.any() for gradient in found.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_groups": 5}, "norm_groups=5 does not divide width=8"),
        ({"heads": 3}, "heads=3 does not divide d_model=16"),
        ({"units": (1, 0, 1)}, r"units=\(1, 0, 1\) cannot be built; each must be at least 1"),
        ({"dropout": 1.0}, r"dropout=1\.0 is no probability"),
        ({"layers": 0}, "layers=0 cannot be built"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(changes, message):
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **changes)
