"""FPS-Former has the size and cost of the paper's, and the two ends that figure and code disagree about."""

from dataclasses import replace

import pytest
import torch

from models.small import measure, perturb, shrink
from promises import relative_error
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.fps_former.config import FpsFormerConfig
from somamba.models.fps_former.model import Down, FpsFormer, Up

SMALL = shrink(FpsFormerConfig())


def small(**changes):
    torch.manual_seed(0)
    return perturb(FpsFormer(replace(SMALL, **changes))).eval()


def test_the_default_network_has_the_published_size_and_cost():
    # 64x64 is the smallest image whose four grids are multiples of the window: 25 times fewer pixels than 320x320.
    cost = measure_cost(FpsFormer().eval(), (64, 64))
    assert cost.parameters == pytest.approx(12.52e6, rel=0.01)
    assert 25 * cost.module == pytest.approx(200.45e9, rel=0.01)


@pytest.mark.parametrize("coils", [1, 3])
def test_the_papers_network_keeps_the_measured_samples(coils):
    y, A = measure((17, 22), coils=coils)
    with torch.no_grad():
        assert relative_error(A(small(coils=coils)(y, A)), y) < 1e-5


def test_the_released_network_does_not():
    y, A = measure((17, 22))
    with torch.no_grad():
        assert relative_error(A(small(mode="as_published")(y, A)), y) > 1e-3


def test_the_network_adds_to_the_zero_filled_image():
    network = small(mode="as_published")
    torch.nn.init.zeros_(network.head[-1].weight)
    y, A = measure((17, 22))
    with torch.no_grad():
        torch.testing.assert_close(network(y, A), A.adjoint(y))


def test_going_down_and_up_are_the_folds_of_pytorch(rng):
    grid = torch.randn(2, 6, 10, 4, generator=rng)
    for step, fold in ((Down(4), torch.nn.PixelUnshuffle(2)), (Up(4), torch.nn.PixelShuffle(2))):
        expected = fold(step.filter(grid).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        assert torch.equal(step(grid), expected)


def test_every_switch_changes_the_network():
    y, A = measure((17, 22))
    changes = ({}, {"window": 4}, {"bands": 2}, {"heads": (1, 2, 2, 2)}, {"blocks": (1, 1, 1, 2)})
    with torch.no_grad():
        images = [small(**change)(y, A) for change in changes]
    for image in images[1:]:
        assert relative_error(image, images[0]) > 1e-5
