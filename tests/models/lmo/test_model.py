"""LMO: the sizes of paper and public code, data consistency of every feature map, and what its switches do."""

from dataclasses import replace

import pytest
import torch

from models.definitions import channels, convolved, joined, replaced
from models.small import measure, perturb, shrink
from promises import keeps_the_adjoint_identity, relative_error
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.lmo.config import LMOConfig
from somamba.models.lmo.model import LMO, EachMap, FeatureConsistency, for_each_map
from somamba.physics.channels import to_complex
from somamba.physics.consistency import STRENGTH, proximal

SMALL = shrink(LMOConfig())


def small(**changes):
    torch.manual_seed(0)
    return perturb(LMO(replace(SMALL, **changes))).eval()


@pytest.mark.parametrize(
    # 484.98 G: the efficiency table, at 320x320; 116.44 G: the table of the LMO paper, at 256x256.
    ("depth", "millions", "side", "giga"),
    [(16, 5.39, 320, 484.98), (6, 2.02, 256, 116.44)],
)
def test_the_network_has_the_size_and_cost_that_were_published(depth, millions, side, giga):
    # Every layer is proportional to the pixels.
    cost = measure_cost(LMO(LMOConfig(depth=depth)).eval(), (16, 16))
    assert cost.parameters == pytest.approx(millions * 1e6, rel=0.01)
    assert (side / 16) ** 2 * cost.module == pytest.approx(giga * 1e9, rel=0.01)


@pytest.mark.parametrize("coils", [1, 2])
def test_every_complex_map_returns_the_measured_samples(coils, rng):
    y, A = measure(coils=coils)
    y_maps, A_maps = for_each_map(5, y, A)
    v = FeatureConsistency(magnitude=False)(torch.randn(1, 10, 14, 18, generator=rng), y_maps, A_maps)
    for number, image in enumerate(to_complex(v)[0]):
        assert torch.allclose(A(image[None, None]), y[:, number % coils, None], atol=1e-5)


def test_magnitudes_are_taken_behind_the_consistency(rng):
    y, A = measure()
    v = torch.randn(1, 3, 14, 18, generator=rng)
    consistent = v + A.adjoint(y - A(v.to(torch.complex64)))
    result = FeatureConsistency(magnitude=True)(v, *for_each_map(3, y, A))
    torch.testing.assert_close(result, consistent.abs())


def test_with_coil_maps_every_feature_solves_the_proximal_problem(rng):
    y, A = measure(batch=2, coils=3, maps=True)
    v = torch.randn(2, 4, 14, 18, generator=rng)
    result = to_complex(FeatureConsistency(magnitude=False)(v, *for_each_map(2, y, A)))
    alone = torch.cat([proximal(image, y, A, STRENGTH) for image in to_complex(v).split(1, dim=1)], dim=1)
    assert relative_error(result, alone) < 1e-4


def test_the_operator_of_all_maps_keeps_the_adjoint_identity(rng):
    _, A = measure(coils=3, maps=True)
    keeps_the_adjoint_identity(EachMap(A, 3), (1, 2, 14, 18), (1, 6, 14, 18), rng)
    assert EachMap(A, 3).to("cpu").coils == 3
    assert repr(EachMap(A, 3)) == f"EachMap({A!r})"


@pytest.mark.parametrize("feature_dc", ["complex", "magnitude"])
def test_the_image_returns_the_measured_samples(feature_dc):
    y, A = measure(coils=2)
    with torch.no_grad():
        assert torch.allclose(A(small(coils=2, feature_dc=feature_dc)(y, A)), y, atol=1e-5)


def test_the_kind_of_feature_consistency_changes_the_image():
    y, A = measure()
    complex_maps, magnitudes = small(), small(feature_dc="magnitude")
    magnitudes.load_state_dict(complex_maps.state_dict())
    with torch.no_grad():
        assert relative_error(magnitudes(y, A), complex_maps(y, A)) > 1e-3


def test_blocks_have_weights_of_their_own():
    def count(depth):
        return sum(p.numel() for p in small(depth=depth).parameters())

    assert count(3) - count(2) == count(2) - count(1) > 0


@torch.no_grad()
def test_the_network_is_lift_blocks_between_consistencies_project_and_one_more():
    network = small(depth=2).double()
    y, A = measure()
    y = y.to(torch.complex128)
    x = A.adjoint(y)
    v = convolved(network.lift, channels(x))
    steps = 0

    def consistent(v):
        nonlocal steps
        steps += 1
        return channels(replaced(joined(v), y, A))

    for block in network.blocks:
        v = consistent(v)
        first, norm, activate, second, last_norm = block.convolution.branch
        w = v + last_norm(convolved(second, activate(norm(convolved(first, v)))))
        v = consistent(v + block.scanning(w))
    assert steps == 2 * 2
    expected = replaced(x + joined(convolved(network.project, v)), y, A)
    torch.testing.assert_close(network(y, A), expected, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_the_output_is_a_correction_of_the_zero_filled_image():
    """With coil maps, where the last data consistency does not hide what it was given."""
    network, given = small(), []
    network.consistency.register_forward_pre_hook(lambda _module, inputs: given.append(inputs[0]))
    network.project.register_forward_hook(lambda _module, _inputs, out: given.append(out))
    y, A = measure(coils=3, maps=True)
    network(y, A)
    update, corrected = given
    torch.testing.assert_close(corrected, A.adjoint(y) + joined(update))


def test_the_branch_of_a_block_has_batch_norms_around_the_filtered_activation():
    kinds = [type(layer).__name__ for layer in small().blocks[0].convolution.branch]
    assert kinds == ["Conv2d", "BatchNorm2d", "FilteredLeakyReLU", "Conv2d", "BatchNorm2d"]
