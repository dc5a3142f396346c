"""Windows alternate, layers keep a skip, and recomputing changes memory only."""

from dataclasses import replace

import pytest
import torch

from models.small import shrink
from somamba.models.recon_former.block import PyramidLayer, ReconFormerBlock
from somamba.models.recon_former.config import ReconFormerConfig

SMALL = shrink(ReconFormerConfig())


@pytest.mark.parametrize(("depth", "shifts"), [(1, [[0], [4]]), (2, [[0, 4], [0, 4]]), (3, [[0, 4, 0], [0, 4, 0]])])
def test_every_second_block_is_shifted(depth, shifts):
    block = ReconFormerBlock(12, depth, SMALL)
    assert [[inner.attention.shift for inner in layer.blocks] for layer in block.layers] == shifts


def test_a_layer_without_its_filter_changes_nothing(rng):
    layer = PyramidLayer(12, SMALL, [0])
    torch.nn.init.zeros_(layer.filter.weight)
    torch.nn.init.zeros_(layer.filter.bias)
    grid = torch.randn(1, 9, 10, 12, generator=rng)
    assert torch.equal(layer(grid, [None])[0], grid)


def test_every_block_remembers_its_own_map(rng):
    block = ReconFormerBlock(12, 2, SMALL)
    features, memories = torch.randn(1, 9, 10, 12, generator=rng), None
    for iteration in (1, 2, 3):
        features, memories = block(features, memories)
        assert [len(memory) for memory in memories] == [iteration] * 4


def test_recomputing_gives_the_same_gradients(rng):
    torch.manual_seed(0)
    plain = ReconFormerBlock(12, 2, SMALL)
    thrifty = ReconFormerBlock(12, 2, replace(SMALL, recompute=True))
    thrifty.load_state_dict(plain.state_dict())
    grid = torch.randn(1, 9, 10, 12, generator=rng)
    for block in (plain, thrifty):
        features, memories = block(grid, None)
        block(features, memories)[0].square().sum().backward()
    for one, other in zip(plain.parameters(), thrifty.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_recomputing_keeps_fewer_numbers_for_the_backward_pass(rng):
    grid = torch.randn(1, 16, 16, 12, generator=rng)

    def kept(recompute):
        block = ReconFormerBlock(12, 1, replace(SMALL, recompute=recompute))
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
            block(grid, None)
        return sum(sizes)

    assert kept(recompute=True) < kept(recompute=False) / 4
