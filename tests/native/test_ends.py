"""The compiled ends of a stage, Phi and Psi, are their two layers in float64: output and every gradient."""

import pytest
import torch
from torch import nn

from models.small import SMALL, perturb
from native.machine import INSTRUCTION_SETS, needs_native
from promises import relative_error
from somamba.models.so_mamba.model import Decoder, Embedding

pytestmark = needs_native

# Images, patch, channels: the paper's, odd ones, and more channels than a panel has columns.
SIZES = [(1, 2, 192), (1, 1, 5), (3, 3, 22), (2, 2, 33)]
ENDS = {"Phi": Embedding, "Psi": Decoder}
GRIDS = [(1, 1), (3, 5), (13, 17)]


def made(end, size, grid, batch=2):
    images, patch, channels = size
    torch.manual_seed(0)
    pixels = (batch, 2 * images, grid[0] * patch, grid[1] * patch)
    features = (batch, *grid, channels)
    x, dout = (pixels, features) if end == "Phi" else (features, pixels)
    return perturb(ENDS[end](*size)), torch.randn(x), torch.randn(dout)


def differentiate(module, x, dout):
    """Output and all gradients by name."""
    module.zero_grad()
    x = x.clone().requires_grad_()
    out = module(x)
    out.backward(dout)
    return {"out": out.detach(), "x": x.grad, **{name: p.grad.clone() for name, p in module.named_parameters()}}


def agrees(module, x, dout):
    ours = differentiate(module, x, dout)
    right = differentiate(module.double(), x.double(), dout.double())
    assert list(ours) == list(right)
    worst = {name: relative_error(ours[name], right[name]) for name in ours}
    assert max(worst.values()) < 1e-5, worst


def operators(out):
    """The names of all operators that autograd saw."""
    seen, todo = set(), [out.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [before for before, _ in node.next_functions]
    return {node.name() for node in seen}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_ends_have_the_gradients_of_their_layers(end, size, grid, count, threads):
    threads(count)
    agrees(*made(end, size, grid))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", SIZES[:3], ids=str)
def test_every_instruction_set_has_the_gradients_of_the_layers(name, end, size, instruction_set):
    instruction_set(name)
    agrees(*made(end, size, (7, 9)))


@pytest.mark.parametrize("end", ENDS)
def test_it_is_the_compiled_end_that_runs(end):
    module, x, _ = made(end, SIZES[0], (3, 4))
    compiled = {"Phi": "_EmbedBackward", "Psi": "_DecodeBackward"}[end]
    assert compiled in operators(module(x))
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled not in operators(module(x))
    with module.norm.register_forward_hook(lambda *_: None):
        assert compiled not in operators(module(x))


def test_an_image_that_wants_no_gradient_gets_none():
    module, x, dout = made("Phi", SIZES[0], (3, 4))
    right = differentiate(module, x, dout)
    module.zero_grad()
    module(x).backward(dout)
    assert x.grad is None
    assert all(torch.equal(p.grad, right[name]) for name, p in module.named_parameters())


@pytest.mark.parametrize("end", ENDS)
def test_what_is_not_finite_does_not_become_a_number(end):
    module, x, dout = made(end, SIZES[0], (3, 4))
    x[0, 0, 0, 0] = torch.nan
    result = differentiate(module, x, dout)
    assert not result["out"].isfinite().all()
    assert result["out"][1].isfinite().all()
    assert not result["x"].isfinite().all()


def test_the_small_network_uses_both_ends():
    module = nn.ModuleList([Embedding(1, SMALL.patch, SMALL.channels), Decoder(1, SMALL.patch, SMALL.channels)])
    image = torch.randn(1, 2, 4 * SMALL.patch, 4 * SMALL.patch, requires_grad=True)
    assert {"_EmbedBackward", "_DecodeBackward"} <= operators(module[1](module[0](image)))
