"""Mamba-UNet: the published sizes, four directions in every block, and what its switches do."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.definitions import channels, convolved, joined, layer_normed
from models.small import measure, perturb, shrink
from somamba.errors import ConfigError
from somamba.evaluation.cost.counted import measure_cost
from somamba.models.mamba_unet import SS2D, MambaUNet, MambaUNetConfig, PatchMerging

SMALL = shrink(MambaUNetConfig())


def small(**changes):
    torch.manual_seed(0)
    return perturb(MambaUNet(replace(SMALL, **changes))).eval()


@pytest.mark.parametrize(("patch", "millions", "giga"), [(4, 19.1, 9.1), (2, 19.0, 33.2)])
def test_the_network_has_the_size_of_the_public_one(patch, millions, giga):
    # Every term is proportional to the pixels: a tenth of 320 gives a hundredth.
    cost = measure_cost(MambaUNet(MambaUNetConfig(patch=patch)).eval(), (32, 32))
    assert cost.parameters == pytest.approx(millions * 1e6, rel=0.01)
    assert 100 * cost.all == pytest.approx(giga * 1e9, rel=0.01)


def test_a_block_scans_rows_and_columns_both_ways(rng):
    height, width = 3, 4
    mixer = perturb(SS2D(4, 2, "auto")).double()
    grid = torch.randn(1, height, width, 4, dtype=torch.float64, generator=rng)
    content, gate = mixer.in_proj(grid).chunk(2, dim=-1)
    content = mixer.filter(content).flatten(1, 2)
    places = torch.arange(height * width).view(height, width)
    orders = [places.flatten(), places.T.flatten(), places.flatten().flip(0), places.T.flatten().flip(0)]
    tokens = torch.cat([content[:, order] for order in orders], dim=-1)
    total = torch.zeros_like(content)
    for order, readout in zip(orders, mixer.selective(tokens).chunk(4, dim=-1), strict=True):
        total = total.index_add(1, order, readout)
    expected = mixer.out_proj(mixer.norm(total.unflatten(1, (height, width))) * F.silu(gate))
    torch.testing.assert_close(mixer(grid), expected)


def test_every_token_of_a_block_sees_every_other():
    mixer = perturb(SS2D(4, 2, "auto"))
    grid = torch.randn(1, 5, 6, 4, requires_grad=True)
    mixer(grid)[0, 2, 3].sum().backward()
    assert grid.grad.abs().sum(-1).all()


def test_merging_joins_four_neighbours():
    merge = PatchMerging(3)
    grid = torch.randn(1, 4, 6, 3, requires_grad=True)
    merged = merge(grid)
    assert merged.shape == (1, 2, 3, 6)
    merged[0, 1, 2, 0].backward()
    seen = grid.grad[0].abs().sum(-1) > 0
    assert seen.nonzero().tolist() == [[2, 4], [2, 5], [3, 4], [3, 5]]


def test_the_patch_changes_the_number_of_tokens():
    image = torch.randn(1, 2, 16, 24)
    assert small(patch=4).embed(image).shape[1:3] == (4, 6)
    assert small(patch=2).embed(image).shape[1:3] == (8, 12)


def test_only_plus_dc_returns_the_measured_samples():
    y, A = measure()
    with torch.no_grad():
        assert torch.allclose(A(small(mode="+dc")(y, A)), y, atol=1e-5)
        assert not torch.allclose(A(small()(y, A)), y, atol=1e-2)


def test_paths_are_dropped_in_training_only():
    y, A = measure(batch=4)
    network = small(drop_path=0.9)
    with torch.no_grad():
        expected = network(y, A)
        assert not torch.allclose(network.train()(y, A), expected)
        assert network.eval()(y, A).equal(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depths": ()}, "1 to 12 levels"),
        ({"depths": (2, 0)}, r"depths=\(2, 0\) cannot be built; each must be at least 1"),
        ({"channels": 5}, "choose an even number"),
        ({"drop_path": 1.0}, "drop_path=1.0 is no probability to train with; choose 0 to below 1"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(changes, message):
    with pytest.raises(ConfigError, match=message):
        MambaUNetConfig(**changes)


def enlarged(part, grid, patch):
    """Every token becomes ``patch * patch`` finer ones, row by row, with a layer norm."""
    fine = F.linear(grid, part.expand.project.weight)
    fine = fine.unflatten(-1, (patch, patch, -1)).permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)
    return layer_normed(part.norm, fine)


@torch.no_grad()
def test_the_network_is_a_u_whose_skips_leave_in_front_of_the_blocks():
    network = small(depths=(2, 1, 1)).double()
    y, A = measure((16, 32))
    y = y.to(torch.complex128)

    def blocks(level, grid):
        for block in level:
            grid = grid + block.mix(layer_normed(block.norm, grid))
        return grid

    x = convolved(network.embed.project, channels(A.adjoint(y)), stride=4, padding=0).permute(0, 2, 3, 1)
    x, skips = layer_normed(network.embed.norm, x), []
    for level, merge in zip(network.down[:-1], network.merge, strict=True):
        skips.append(x)
        x = blocks(level, x)
        corners = torch.cat([x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]], dim=-1)
        x = F.linear(layer_normed(merge.norm, corners), merge.project.weight)
    x = layer_normed(network.norm, blocks(network.down[-1], x))
    for enlarge, join, level in zip(network.enlarge, network.join, network.up, strict=True):
        both = torch.cat((enlarged(enlarge, x, 2), skips.pop()), dim=-1)
        x = blocks(level, F.linear(both, join.weight, join.bias))
    pixels = enlarged(network.to_pixels, layer_normed(network.norm_up, x), 4)
    expected = joined(convolved(network.output, pixels.permute(0, 3, 1, 2)))
    torch.testing.assert_close(network(y, A), expected, rtol=1e-9, atol=1e-9)
