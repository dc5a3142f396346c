"""Chunk by chunk gives what token by token gives, in value and gradient."""

import pytest
import torch

from scan.made import agrees, to
from scan.selective.made import DECAYS, SHAPES, cotangent_of, differentiate, random_arguments
from somamba.scan.selective.chunked import selective_chunked
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.reference import selective_reference


def compare(arguments, **options):
    cotangent = cotangent_of(arguments)
    oracle = differentiate(selective_reference, arguments, cotangent)
    result = differentiate(lambda inputs: selective_chunked(inputs, **options), arguments, cotangent)
    agrees(result, oracle, out=1e-10, gradient=1e-10)


@pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("decay", DECAYS)
def test_equal_to_the_reference_at_every_length(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay, groups=2))


@pytest.mark.parametrize("sizes", SHAPES, ids=lambda sizes: "-".join(f"{name}{size}" for name, size in sizes.items()))
def test_equal_to_the_reference_in_every_shape(sizes):
    compare(random_arguments(tokens=35, **sizes), chunk=16)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 16, 36, 37, 64])
def test_the_cut_does_not_matter(chunk):
    compare(random_arguments(tokens=37, batch=2, groups=3), chunk=chunk)


def test_a_product_of_decays_that_underflows_is_harmless():
    arguments = random_arguments(tokens=64)
    arguments["A"] = torch.full_like(arguments["A"], -1e4)
    compare(arguments)
    assert torch.exp(arguments["dt"].float().sum(dim=1)[0, 0] * -1e4) == 0


def test_states_are_those_of_the_reference():
    inputs = SelectiveInputs(**random_arguments(tokens=45, groups=2, batch=2))
    ours = selective_chunked(inputs, keep_states=True, chunk=16)
    torch.testing.assert_close(ours.states, selective_reference(inputs, keep_states=True).states)
    assert selective_chunked(inputs).states is None


@pytest.mark.parametrize("with_readout", [False, True])
def test_gradients_pass_through_the_states(with_readout):
    arguments = random_arguments(tokens=11, groups=2, batch=2)
    leaves = [tensor.requires_grad_() for name, tensor in arguments.items() if with_readout or name not in ("C", "D")]
    gradients = []
    for run in (lambda inputs, **options: selective_chunked(inputs, chunk=4, **options), selective_reference):
        result = run(SelectiveInputs(**arguments), keep_states=True)
        loss = result.states.square().sum() + (result.readout.square().sum() if with_readout else 0)
        gradients.append(torch.autograd.grad(loss, leaves))
    for ours, exact in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, exact)


def test_numerical_derivatives_agree():
    leaves = tuple(tensor.requires_grad_() for tensor in random_arguments(tokens=5, channels=4, n=2, groups=2).values())
    assert torch.autograd.gradcheck(lambda *given: selective_chunked(SelectiveInputs(*given), chunk=2).readout, leaves)


@pytest.mark.parametrize("decay", DECAYS)
def test_float32_keeps_its_precision_over_many_tokens(decay):
    arguments = random_arguments(tokens=1000, decay=decay)
    cotangent = cotangent_of(arguments)
    oracle = differentiate(selective_chunked, arguments, cotangent)
    result = differentiate(selective_chunked, to(arguments, torch.float32), cotangent)
    agrees(result, oracle, out=1e-4, gradient=1e-4)


def test_nan_stays_nan():
    arguments = random_arguments()
    arguments["u"][0, 9, 1] = torch.nan
    readout = selective_chunked(SelectiveInputs(**arguments)).readout
    assert readout[0, 9:, 1].isnan().all()
    assert not readout[0, :, 0].isnan().any()
