"""HiFi-Mamba: the sizes of paper and release, data consistency in every group, and what its switches do."""

from dataclasses import replace

import pytest
import torch

from models.small import measure, perturb, relative_error, shrink
from somamba.errors import InputError
from somamba.evaluation.cost import measure_cost
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


@pytest.mark.parametrize("variant", ["paper", "release"])
def test_autocast_stays_close_to_float32(variant):
    y, A = measure((16, 24))
    network = small(variant=variant)
    with torch.no_grad():
        expected = network(y, A)
        with torch.autocast("cpu", torch.bfloat16):
            image = network(y, A)
    assert image.dtype == torch.complex64
    assert 0 < relative_error(image, expected) < 0.05
    assert torch.allclose(A(image), y, atol=1e-5)


def test_an_image_too_small_for_the_binomial_filter_is_refused_in_words():
    y, A = measure((4, 9))
    assert small()(y, A).isfinite().all()
    with pytest.raises(InputError, match="larger than 4x4"):
        small(variant="release")(y, A)
