"""The compiled depthwise filter with GELU is the one of PyTorch, in value and gradient."""

import pytest
import torch
import torch.nn.functional as F
from torch.library import opcheck

from native.machine import INSTRUCTION_SETS, needs_native
from somamba.native.depthwise import depthwise_gelu

pytestmark = needs_native

SIZES = [
    (1, 1, 1, 1),
    (2, 1, 5, 3),
    (1, 4, 1, 17),
    (3, 5, 7, 33),
    (1, 2, 2, 16),
    (2, 9, 6, 32),
    (1, 3, 3, 200),
    (1, 5, 13, 40),
]


def made(size, seed=0, scale=1.0):
    """Grid, weight, bias and a gradient to send back."""
    rng = torch.Generator().manual_seed(seed)
    channels = size[-1]
    shapes = (size, (channels, 1, 3, 3), (channels,), size)
    grid, weight, bias, cotangent = (torch.randn(shape, generator=rng) for shape in shapes)
    return scale * grid, weight, bias, cotangent


def exact(grid, weight, bias):
    filtered = F.conv2d(grid.permute(0, 3, 1, 2), weight, bias, padding=1, groups=grid.shape[-1])
    return F.gelu(filtered).permute(0, 2, 3, 1)


def differentiate(run, cotangent, *arguments):
    leaves = [argument.detach().requires_grad_() for argument in arguments]
    out = run(*leaves)
    return out, *torch.autograd.grad(out, leaves, cotangent)


def agrees(grid, weight, bias, cotangent):
    result = differentiate(depthwise_gelu, cotangent, grid, weight, bias)
    oracle = differentiate(exact, cotangent.double(), grid.double(), weight.double(), bias.double())
    for name, ours, right in zip(("out", "grid", "weight", "bias"), result, oracle, strict=True):
        assert ours.shape == right.shape
        # GELU's own error is absolute, like that of PyTorch in float32: where all values are small it has no scale.
        assert (ours.double() - right).abs().max() <= 2e-6 * right.abs().max().clamp(min=0.2), name


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_value_and_gradients_at_odd_sizes(size):
    agrees(*made(size))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_every_instruction_set_is_right(name, instruction_set):
    instruction_set(name)
    agrees(*made((2, 5, 7, 33)))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_any_number_of_threads_is_right(count, threads):
    threads(count)
    agrees(*made((1, 4, 7, 33)))
    agrees(*made((1, 1, 7, 20)))


@pytest.mark.parametrize("scale", [1e-6, 30.0, 1e4])
def test_small_and_large_values(scale):
    agrees(*made((1, 5, 6, 20), scale=scale))


def test_memory_layout_does_not_matter():
    grid, weight, bias, cotangent = made((2, 6, 5, 20))
    expected = differentiate(depthwise_gelu, cotangent, grid, weight, bias)
    channels_first = grid.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
    sliced = torch.cat([grid, grid], dim=-1)[..., :20]
    for view in (channels_first, sliced):
        assert not view.is_contiguous()
        result = differentiate(depthwise_gelu, cotangent.mT.contiguous().mT, view, weight, bias)
        assert all(torch.equal(*pair) for pair in zip(result, expected, strict=True))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_nan_reaches_its_neighbours_and_no_further(name, instruction_set):
    instruction_set(name)
    grid, weight, bias, _ = made((1, 7, 7, 20))
    grid[0, 3, 3, 4] = torch.nan
    out = depthwise_gelu(grid, weight, bias)
    assert out[0, 2:5, 2:5, 4].isnan().all()
    assert out.isnan().sum() == 9


def test_pytorch_accepts_the_operator():
    grid, weight, bias, _ = (tensor.requires_grad_() for tensor in made((2, 5, 4, 20)))
    opcheck(torch.ops.somamba.depthwise_gelu, (grid, weight, bias))


def test_gradients_only_where_asked_for():
    grid, weight, bias, _ = made((1, 5, 4, 20))
    weight.requires_grad_()
    depthwise_gelu(grid, weight, bias).sum().backward()
    assert weight.grad.any()
    assert grid.grad is bias.grad is None
