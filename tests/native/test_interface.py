"""The compiled norm and modulation of B and C, with the linear layer before it, is Eq. 18, in value and gradient."""

import pytest
import torch
import torch.nn.functional as F
from torch.library import opcheck

from native.machine import INSTRUCTION_SETS, needs_native
from somamba.native.interface import modulated_norm

pytestmark = needs_native

EPS = 1e-5
NAMES = ("B'", "C'", "B", "C", "B_weight", "C_weight", "hidden", "weight", "bias", "scale", "shift")
# Rows, vectors, n, hidden. Rows are projected four at a time and what is left over one by one: all remainders are here.
SIZES = [
    ((2, 3), 4, 16, 24),
    ((1, 1), 1, 1, 1),
    ((1, 5), 3, 7, 5),
    ((2, 7), 2, 33, 1),
    ((3, 2), 300, 5, 5),
    ((5,), 4, 16, 24),
    ((2, 2, 3), 2, 8, 24),
    ((1, 7), 1, 3, 17),
    ((3,), 2, 5, 5),
    ((4,), 1, 1, 24),
]


def made(rows, vectors, n, hidden=24, *, seed=0, size=1.0):
    """Arguments, and a gradient for each of the two outputs."""
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=rng)

    width = vectors * n
    interfaces = [size * normal(*rows, width), size * normal(*rows, width)]
    weights = [1 + 0.3 * normal(n), 1 + 0.3 * normal(n)]
    strengths = [torch.tensor(0.4), torch.tensor(0.7)]
    layer = [normal(*rows, hidden), hidden**-0.5 * normal(4 * width, hidden), 0.5 * normal(4 * width)]
    return [*interfaces, *weights, *layer, *strengths], [normal(*rows, width), normal(*rows, width)]


def exact(B, C, B_weight, C_weight, hidden, weight, bias, scale, shift):
    mu_B, nu_B, mu_C, nu_C = F.linear(hidden, weight, bias).chunk(4, dim=-1)
    out = []
    for interface, gain, mu, nu in ((B, B_weight, mu_B, nu_B), (C, C_weight, mu_C, nu_C)):
        normed = F.rms_norm(interface.unflatten(-1, (-1, len(gain))), gain.shape, gain, EPS).flatten(-2)
        out.append(normed * (1 + scale * torch.tanh(mu)) + shift * torch.tanh(nu))
    return tuple(out)


def native(*arguments):
    return modulated_norm(*arguments, EPS)


def differentiate(run, arguments, cotangents):
    leaves = [argument.detach().requires_grad_() for argument in arguments]
    out = run(*leaves)
    return *out, *torch.autograd.grad(out, leaves, cotangents)


def agrees(arguments, cotangents, tolerance=3e-6):
    result = differentiate(native, arguments, cotangents)
    oracle = differentiate(exact, [a.double() for a in arguments], [c.double() for c in cotangents])
    walk = (4 * arguments[0].numel()) ** 0.5  # what so many terms of either sign add up to
    normed = [float(arguments[i].abs().max()) for i in (2, 3)]  # B and C are sums of terms of this size
    least = {"scale": walk, "shift": walk, NAMES[0]: normed[0], NAMES[1]: normed[1]}
    if arguments[2].numel() == 1:
        # A norm over one entry leaves only its sign: of terms of this size, the gradient is what eps lets through.
        least |= {name: float((cotangents[i] / arguments[i]).abs().max()) for i, name in enumerate("BC")}
    for name, ours, right in zip(NAMES, result, oracle, strict=True):
        assert ours.shape == right.shape
        size = right.abs().max().clamp(min=least.get(name, 0.0))
        assert (ours.double() - right).abs().max() <= tolerance * size, name


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_value_and_gradients_at_odd_sizes(size):
    agrees(*made(*size))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_every_instruction_set_is_right(name, instruction_set):
    instruction_set(name)
    for size in SIZES[0], SIZES[2], SIZES[3], SIZES[7]:
        agrees(*made(*size))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_any_number_of_threads_is_right(count, threads):
    threads(count)
    for rows in 5, 13, 27:
        agrees(*made((1, rows), 4, 16))


def test_threads_that_run_at_once_do_not_disturb_each_other(threads):
    arguments, _ = made((20001,), 4, 16)  # enough for the first not to be done before the last begins
    threads(1)
    expected = native(*arguments)
    threads(3)
    assert all(torch.equal(*pair) for pair in zip(native(*arguments), expected, strict=True))


def test_many_rows_do_not_blur_what_is_summed_over_them():
    agrees(*made((2, 3000), 4, 16), tolerance=1e-5)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e6])
def test_small_and_large_interfaces(size):
    agrees(*made((2, 3), 4, 16, size=size), tolerance=1e-5)


def test_zero_interfaces_give_the_shift_alone():
    arguments, cotangents = made((2, 3), 4, 16)
    arguments[0] = torch.zeros_like(arguments[0])
    hidden, weight, bias, _, shift = arguments[4:]
    shifted = shift * torch.tanh(F.linear(hidden, weight, bias).chunk(4, dim=-1)[1])
    torch.testing.assert_close(native(*arguments)[0], shifted)
    assert all(tensor.isfinite().all() for tensor in differentiate(native, arguments, cotangents))


def test_slices_of_one_projection_are_read_in_place():
    arguments, cotangents = made((2, 6), 2, 12)
    expected = differentiate(native, arguments, cotangents)
    projected = torch.cat([*arguments[:2], torch.full((2, 6, 5), torch.nan)], dim=-1)
    B, C, _ = projected.split([24, 24, 5], dim=-1)
    assert not B.is_contiguous()
    result = differentiate(native, [B, C, *arguments[2:]], cotangents)
    assert all(torch.equal(*pair) for pair in zip(result, expected, strict=True))


def test_a_slice_of_a_wider_hidden_layer_is_read_in_place():
    arguments, cotangents = made((2, 7), 2, 12, 5)
    expected = native(*arguments)
    wider = torch.cat([torch.full((2, 7, 3), torch.nan), arguments[4], torch.full((2, 7, 2), torch.nan)], dim=-1)
    arguments[4] = wider[..., 3:8]
    assert not arguments[4].is_contiguous()
    assert all(torch.equal(*pair) for pair in zip(native(*arguments), expected, strict=True))
    agrees(arguments, cotangents)


@pytest.mark.parametrize(
    "turn", [lambda t: t.mT.contiguous().mT, lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)]
)
def test_memory_layout_does_not_matter(turn):
    arguments, cotangents = made((3, 6), 2, 12)
    expected = differentiate(native, arguments, cotangents)
    turned = [turn(a) if a.ndim == 3 else a for a in arguments]
    result = differentiate(native, turned, [turn(c) for c in cotangents])
    assert all(torch.equal(*pair) for pair in zip(result, expected, strict=True))


def test_a_transposed_weight_is_read_right():
    arguments, cotangents = made((2, 7), 2, 12, 5)
    expected = native(*arguments)
    arguments[5] = arguments[5].mT.contiguous().mT
    assert not arguments[5].is_contiguous()
    assert all(torch.equal(*pair) for pair in zip(native(*arguments), expected, strict=True))
    agrees(arguments, cotangents)


def test_one_hidden_vector_may_speak_for_every_row():
    arguments, cotangents = made((2, 7), 2, 12, 5)
    arguments[4] = arguments[4][:1, :1].expand(2, 7, 5)
    agrees(arguments, cotangents)


@pytest.mark.parametrize("silent", [0, 1])
def test_an_output_nobody_reads_sends_no_gradient(silent):
    arguments, cotangents = made((1, 7), 2, 12, 5)
    leaves = [argument.requires_grad_() for argument in arguments]
    read = 1 - silent
    result = torch.autograd.grad(native(*leaves)[read], leaves, cotangents[read])
    cotangents[silent] = torch.zeros_like(cotangents[silent])
    expected = differentiate(native, arguments, cotangents)[2:]
    assert not result[silent].any()
    assert all(torch.equal(*pair) for pair in zip(result, expected, strict=True))


def test_B_and_C_may_be_the_same_tensor():
    arguments, cotangents = made((2, 6), 2, 12)
    shared = arguments[0].clone().requires_grad_()
    out = native(shared, shared, *arguments[2:])
    (gradient,) = torch.autograd.grad(out, shared, cotangents)
    apart = differentiate(native, [arguments[0], arguments[0], *arguments[2:]], cotangents)
    torch.testing.assert_close(gradient, apart[2] + apart[3])


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("poisoned", [0, 1, 4])
def test_nan_stays_nan(name, poisoned, instruction_set):
    instruction_set(name)
    arguments, _ = made((2, 3), 4, 16)
    arguments[poisoned][0, 1] = torch.nan
    for out, sources in zip(native(*arguments), [(0, 4), (1, 4)], strict=True):
        assert out[0, 1].isnan().all() == (poisoned in sources)
        assert not out[0, [0, 2]].isnan().any()
        assert not out[1].isnan().any()


def test_pytorch_accepts_the_operator():
    arguments, _ = made((2, 5), 2, 8, 5)
    opcheck(torch.ops.somamba.modulated_norm, (*(argument.requires_grad_() for argument in arguments), EPS))
