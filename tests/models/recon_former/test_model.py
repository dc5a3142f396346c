"""ReconFormer has the size and cost of the paper's, carries its state, and ends at the measurements."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.definitions import channels, convolved, joined, replaced
from models.small import measure, perturb, shrink
from promises import relative_error
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.recon_former.config import ReconFormerConfig
from somamba.models.recon_former.model import ReconFormer, Resize, full_unit
from somamba.physics.channels import to_channels

SMALL = shrink(ReconFormerConfig())


def small(**changes):
    torch.manual_seed(0)
    return perturb(ReconFormer(replace(SMALL, **changes))).eval()


def test_the_default_network_has_the_published_size_and_cost():
    # At a quarter of 320x320 all three grids are still multiples of the window, so every term is a sixteenth.
    cost = measure_cost(ReconFormer().eval(), (80, 80))
    assert cost.parameters == pytest.approx(1.141e6, rel=0.01)
    assert 16 * cost.module == pytest.approx(270.60e9, rel=0.01)


def test_iterations_share_their_weights():
    sizes = {sum(p.numel() for p in small(iterations=iterations).parameters()) for iterations in (3, 5)}
    assert len(sizes) == 1


@pytest.mark.parametrize("coils", [1, 3])
def test_the_measured_samples_are_kept(coils):
    y, A = measure((17, 22), coils=coils)
    with torch.no_grad():
        assert relative_error(A(small(coils=coils)(y, A)), y) < 1e-5


@pytest.mark.parametrize("size", [(16, 24), (15, 21)], ids=str)
def test_the_units_work_at_half_full_and_one_and_a_half_times_the_resolution(size):
    x = to_channels(measure(size)[1].adjoint(measure(size)[0]))
    even = [side + side % 2 for side in size]
    for unit, ratio in zip(small().units, (0.5, 1, 1.5), strict=True):
        image, state = unit(x, None)
        assert image.shape == x.shape
        assert list(state.features.shape[-2:]) == [side * ratio for side in even]


def test_a_resized_image_holds_the_nearest_pixels():
    line = torch.arange(6.0).reshape(1, 1, 1, 6).expand(1, 1, 2, 6)
    assert Resize(3, 2)(line)[0, 0, 0].tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5]
    assert Resize(2, 3)(line.repeat(1, 1, 3, 1))[0, 0, 0].tolist() == [0, 1, 3, 4]


def test_features_and_maps_are_carried_to_the_next_iteration(rng):
    torch.manual_seed(0)
    unit = perturb(full_unit(12, 1, SMALL))
    x = torch.randn(1, 2, 12, 12, generator=rng)
    with torch.no_grad():
        first, state = unit(x, None)
        second, state = unit(x, state)
        third, _ = unit(x, state)
        forgetful, _ = unit(x, state._replace(memories=None))
    assert state.memories is not None
    for one, other in ((first, second), (second, third), (third, forgetful)):
        assert relative_error(one, other) > 1e-3


def test_every_switch_of_the_size_changes_the_network():
    y, A = measure((17, 22))
    with torch.no_grad():
        images = [
            small(**change)(y, A)
            for change in ({}, {"iterations": 4}, {"window": 4}, {"heads": 6}, {"expansion": 1}, {"depths": (2, 1, 1)})
        ]
    for image in images[1:]:
        assert relative_error(image, images[0]) > 1e-3


def turned(layer, x, **options):
    """A transposed convolution with the weights of a layer."""
    return F.conv_transpose2d(x, layer.weight, layer.bias, padding=1, **options)


def resized(x, ratio):
    """The nearest pixel, rounded down."""
    height, width = (int(side * ratio) for side in x.shape[-2:])
    rows, columns = ((torch.arange(n) / ratio).long() for n in (height, width))
    return x[..., rows, :][..., columns]


def half_by_definition(unit):
    first, second = unit.encode[0], unit.encode[2]
    up, out = unit.decode[0], unit.decode[2]
    return (
        lambda x: convolved(second, convolved(first, x).clamp(min=0), stride=2, padding=1),
        lambda h: turned(out, turned(up, h, stride=2).clamp(min=0)),
    )


def full_by_definition(unit):
    first, second = unit.encode[0], unit.encode[2]
    up, out = unit.decode[0], unit.decode[2]
    return lambda x: convolved(second, convolved(first, x).clamp(min=0)), lambda h: turned(
        out, turned(up, h).clamp(min=0)
    )


def enlarged_by_definition(unit):
    first, second = unit.encode[0], unit.encode[3]
    third, out = unit.decode[0], unit.decode[3]
    return (
        lambda x: convolved(second, resized(convolved(first, x).clamp(min=0), 1.5)),
        lambda h: convolved(out, resized(convolved(third, h), 2 / 3).clamp(min=0)),
    )


DEFINITIONS = (half_by_definition, full_by_definition, enlarged_by_definition)


@torch.no_grad()
def test_every_unit_and_the_refinement_return_to_the_measurements():
    network = small().double()
    y, A = measure((16, 24))
    y = y.to(torch.complex128)
    x, carried, memories, steps = A.adjoint(y), [None] * 3, [None] * 3, 0
    for iteration in range(SMALL.iterations):
        images = []
        for i, (unit, define) in enumerate(zip(network.units, DEFINITIONS, strict=True)):
            encode, decode = define(unit)
            h = encode(channels(x))
            if iteration:
                grid, memories[i] = unit.block(carried[i].permute(0, 2, 3, 1), memories[i])
                h = h + grid.permute(0, 3, 1, 2)
            carried[i] = torch.where(h > 0, h, unit.activate.weight * h)
            x = replaced(joined(decode(carried[i])), y, A)
            images.append(channels(x))
            steps += 1
        r = torch.cat(images, dim=1)
        r = convolved(network.refine[2], convolved(network.refine[0], r).clamp(min=0)).clamp(min=0)
        x = replaced(joined(convolved(network.refine[5], convolved(network.refine[4], r))), y, A)
        steps += 1
    assert steps == 4 * SMALL.iterations
    torch.testing.assert_close(network(y, A), x, rtol=1e-8, atol=1e-8)
