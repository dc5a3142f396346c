"""HiFi-Mamba: the sizes of paper and release, data consistency in every group, and what its switches do."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.definitions import channels, convolved, joined, layer_normed, normed, replaced
from models.small import measure, perturb, shrink
from promises import relative_error
from somamba.errors import InputError
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.hifi_mamba.config import HiFiMambaConfig
from somamba.models.hifi_mamba.model import HiFiMamba, Unit

SMALL = shrink(HiFiMambaConfig())


def small(**changes):
    torch.manual_seed(0)
    return perturb(HiFiMamba(replace(SMALL, **changes))).eval()


@pytest.mark.parametrize(
    ("changes", "millions", "module", "everything"),
    # 67.87 G is the efficiency table's; the other numbers were counted on the public code.
    [
        ({}, 2.85, 67.87, 70.6),
        ({"split": "avgpool"}, 2.85, 67.87, 70.6),
        ({"variant": "release"}, 3.37, 72.5, 76.3),
        ({"patch": 1}, 2.84, 270.37, 281),
    ],
)
def test_the_network_has_the_size_and_cost_that_were_published(changes, millions, module, everything):
    # All but the pooled gate is proportional to the pixels: a twentieth of 320 gives a 400th.
    cost = measure_cost(HiFiMamba(HiFiMambaConfig(**changes)).eval(), (16, 16))
    assert cost.parameters == pytest.approx(millions * 1e6, rel=0.01)
    assert 400 * cost.module == pytest.approx(module * 1e9, rel=0.01)
    assert 400 * cost.all == pytest.approx(everything * 1e9, rel=0.01)


def test_a_unit_refines_both_streams(rng):
    unit = perturb(Unit(SMALL, 0.0)).eval()
    features = torch.randn(1, 4, 6, 8, generator=rng, requires_grad=True)
    update = unit(features) - features
    assert update.abs().amax((0, 1, 2)).all()


def test_the_high_stream_gets_what_the_split_rejects(rng):
    unit = perturb(Unit(SMALL, 0.0)).eval()
    seen = []
    unit.guide.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    features = torch.randn(1, 4, 6, 8, generator=rng)
    unit(features)
    high, low = features.permute(0, 3, 1, 2).chunk(2, dim=1)
    torch.testing.assert_close(seen[0], high + unit.split(low)[1])


@pytest.mark.parametrize("variant", ["paper", "release"])
@pytest.mark.parametrize("coils", [1, 2])
def test_the_image_returns_the_measured_samples(variant, coils):
    y, A = measure((9, 11), coils=coils)
    with torch.no_grad():
        assert torch.allclose(A(small(variant=variant, coils=coils)(y, A)), y, atol=1e-5)


def test_every_group_embeds_an_image_that_agrees_with_the_measurements():
    y, A = measure((9, 11))
    network, seen = small(), []
    for group in network.groups:
        group.to_image.register_forward_hook(lambda _module, _inputs, image: seen.append(image))
    with torch.no_grad():
        network(y, A)
    assert len(seen) == 2
    assert all(torch.allclose(A(image), y, atol=1e-5) for image in seen)


def test_every_switch_changes_the_image():
    y, A = measure()
    weights = small().state_dict()

    def image(**changes):
        network = small(**changes)
        if network.config.parts == SMALL.parts:
            network.load_state_dict(weights)
        with torch.no_grad():
            return network(y, A)

    paper = image()
    assert relative_error(image(split="avgpool"), paper) > 1e-3
    assert relative_error(image(variant="release"), paper) > 1e-3


def test_paths_are_dropped_in_training_only():
    y, A = measure(batch=4)
    network = small(drop_path=0.9, dropout=0.0)
    with torch.no_grad():
        expected = network(y, A)
        assert not torch.allclose(network.train()(y, A), expected)
        assert network.eval()(y, A).equal(expected)


def test_an_image_too_small_for_the_binomial_filter_is_refused_in_words():
    y, A = measure((4, 9))
    assert small()(y, A).isfinite().all()
    with pytest.raises(InputError, match="larger than 4x4"):
        small(variant="release")(y, A)


def bottleneck(part, x):
    """``x + GELU(1x1(GELU(GN(3x3 of each channel(GELU(GN(1x1 x)))))))``, group norms over all channels."""
    widen, norm_in, _, each, norm_out, _, narrow, _ = part.branch

    def activated(norm, h):
        return F.gelu(normed(h, (1, 2, 3)) * norm.weight.view(1, -1, 1, 1) + norm.bias.view(1, -1, 1, 1))

    h = activated(norm_in, convolved(widen, x))
    h = activated(norm_out, convolved(each, h, groups=h.shape[1]))
    return x + F.gelu(convolved(narrow, h))


def split_by_definition(unit, low, variant):
    """Low band and what it rejects: Haar's LL band in the paper, the binomial filter in the release."""
    features = bottleneck(unit.split.bottleneck, low)
    if variant == "paper":
        small_ = sum(features[..., y::2, x::2] for y in (0, 1) for x in (0, 1)) / 2
    else:
        taps = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0], dtype=features.dtype) / 16
        kernel = (taps[:, None] * taps).expand(features.shape[1], 1, 5, 5)
        small_ = F.conv2d(F.pad(features, (2, 2, 2, 2), mode="reflect"), kernel, stride=2, groups=features.shape[1])
    low = F.interpolate(small_, scale_factor=2, mode="bilinear", align_corners=False)
    return low, features - low


def unit_by_definition(unit, features, variant):
    high, low = features.permute(0, 3, 1, 2).chunk(2, dim=1)
    low, rejected = split_by_definition(unit, low, variant)
    high = bottleneck(unit.guide, high + rejected)
    grids = low.permute(0, 2, 3, 1), high.permute(0, 2, 3, 1)
    mixed = unit.mix(layer_normed(unit.norm_low, grids[0]), layer_normed(unit.norm_high, grids[1]))
    both = torch.cat((bottleneck(unit.refine, high), mixed.permute(0, 3, 1, 2)), dim=1)
    _, first, _, second, _ = unit.gate.gate
    seen = both.mean(dim=(2, 3), keepdim=True) if variant == "release" else both
    gate = torch.sigmoid(convolved(second, F.gelu(convolved(first, seen)), groups=both.shape[1]))
    return features + (gate * both).permute(0, 2, 3, 1)


@torch.no_grad()
@pytest.mark.parametrize("variant", ["paper", "release"])
def test_the_network_goes_through_the_image_after_every_group_and_at_the_end(variant):
    network = small(variant=variant).double()
    y, A = measure((12, 16))
    y = y.to(torch.complex128)
    steps = 0

    def embed(part, x):
        return layer_normed(part.norm, convolved(part.project, x, stride=2, padding=0).permute(0, 2, 3, 1))

    def image(part, features):
        nonlocal steps
        steps += 1
        patches = F.linear(features, part.to_pixels.project.weight).unflatten(-1, (2, 2, 2))
        pixels = patches.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)
        return replaced(joined(pixels), y, A)

    features = embed(network.embed, channels(A.adjoint(y)))
    for group in network.groups:
        for unit in group.units:
            features = unit_by_definition(unit, features, variant)
        features = features + embed(group.embed, F.silu(channels(image(group.to_image, features))))
    expected = image(network.to_image, layer_normed(network.norm, features))
    assert steps == SMALL.groups + 1
    torch.testing.assert_close(network(y, A), expected, rtol=1e-8, atol=1e-8)
